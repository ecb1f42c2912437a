"""*not-durable, high confidence, for an I/O error on a sync; cannot-tell, high, where it is refused; otherwise a note*

## What it means
A sync failed. The kernel may have marked the pages clean, so that a second sync succeeds while the data is gone.
Or the filesystem itself answers with errors: it has shut itself down, or its disk is gone.

## How it was measured
The call and the errno that the probe got. EIO on fsync, fdatasync, msync or a write through O_DSYNC is a finding. So is
another error of those syncs: what arrived in other steps is no praise where a sync is refused. A full disk,
what a write meets, and EIO or EUCLEAN of other calls (open, chdir) are notes: a filesystem may accept a write and look
for its blocks only when it writes them out (delayed allocation), so that a sync meets the full disk, and says so.

## What it proves, and what not
What was not synced before must be taken for lost. One error does not tell whether the disk or the path to it is at
fault.

## What to do next
`dmesg`, `smartctl -a`. Copy the data off before anything else.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import SYNC_CALLS, WRITE_CALLS
from fstui.model.judgement import Finding
from fstui.model.quantities import count
from fstui.model.steps import Failure, Step

_OTHER_CALLS = frozenset({"chdir", "fallocate", "mmap", "open"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_STOPPED = frozenset({errno.EIO, errno.EUCLEAN})
"""What a filesystem answers that has shut itself down, or met what cannot be true (EFSCORRUPTED)."""
_LOOK_AND_SAVE = "Look at the kernel's log (dmesg) and the disk's own (smartctl -a), and copy the data off first."


@rule(place=20)
def sync_error(case: Case) -> Iterator[Finding]:
    """A sync that failed: the pages may be marked clean and a second try succeed, with the data gone."""
    for step in case.steps.all:
        if step.error is None:
            continue
        if step.error.call in SYNC_CALLS | WRITE_CALLS:
            yield _failed(case, step, step.error)
        elif step.error.call in _OTHER_CALLS and step.error.errno in _STOPPED:
            yield _stopped(step, step.error)


def _stopped(step: Step, error: Failure) -> Finding:
    name = errno.errorcode[error.errno or 0]
    return Finding(
        rule="sync-error",
        verdict=None,
        confidence="high",
        scope="step",
        title=f"{error.call} failed with {name}",
        sentence=f"In step {step.name}, {error.call} failed with {name}: the filesystem has stopped, or what lies "
        "beneath it is gone.",
        steps=(step.name,),
        because=(f"{step.name}: {error.call}: {error.message}",),
        next=(_LOOK_AND_SAVE,),
    )


def _failed(case: Case, step: Step, error: Failure) -> Finding:
    lost = error.errno == errno.EIO and (error.call in SYNC_CALLS or _writes_are_synced(case, step))
    refused = error.call in SYNC_CALLS and error.errno not in _FULL | {errno.EIO}
    name = errno.errorcode.get(error.errno or 0, "an error")
    ended = f"failed with {name}" if error.errno is not None else "took only a part"  # wire.talk: no error at all
    return Finding(
        rule="sync-error",
        verdict="not-durable" if lost else "cannot-tell" if refused else None,
        confidence="high",
        scope="storage" if lost or refused else "step",
        title=f"{error.call} {ended}",
        sentence=f"In step {step.name}, {error.call} {ended} after {count(step.ops)} "
        f"operations, in {words.time_measured([step])}. {_meaning(error, lost=lost, refused=refused)}",
        steps=(step.name,),
        because=(f"{step.name}: {error.call}: {error.message}",),
        next=(_LOOK_AND_SAVE,) if error.errno == errno.EIO else (),
    )


def _meaning(error: Failure, *, lost: bool, refused: bool) -> str:
    if lost:
        return "The kernel may have marked the pages clean: a second sync would succeed with the data gone."
    if error.errno in _FULL and error.call in SYNC_CALLS:
        return (
            "There was no room left for writes that had been accepted: they are lost, and the program was told, so the "
            "storage kept its word. What was synced before stands."
        )
    if error.errno in _FULL:
        return "There was no room left. What was synced before stands."
    if refused:
        return "It was refused, and the program was told. What other syncs did says nothing of this one."
    return "The step ended there; what was synced before it stands."


def _writes_are_synced(case: Case, step: Step) -> bool:
    done = case.steps.of(step)
    return case.steps.mounted_sync or (done is not None and bool({"dsync", "sync"} & set(done.settings.open_flags)))
