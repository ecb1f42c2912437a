"""*a note*

## What it means
Some of the steps did not get to their end, and not for an error of a sync or a write, nor for want of what they ask
for (O_DIRECT): their directory was unmounted, moved or removed, a database did not start. The others are judged.

## How it was measured
By what the probe, or the database, said when it gave up.

## What it proves, and what not
Nothing about the storage while those steps would have run: what is said of the others holds for their time alone.

## What to do next
See that the directory is there and can be written to, then run again.
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
from fstui.model.steps import Failure

_UNSUPPORTED = frozenset({errno.EINVAL, errno.EOPNOTSUPP})


@rule(place=35, said_first=True)
def steps_failed(case: Case) -> Iterator[Finding]:
    """Some of the steps failed; where all did, the verdict says so itself."""
    failed = [(step, step.error) for step in case.steps.all if step.error is not None and _is_told(step.error)]
    if 0 < len(failed) < len(case.steps.all):
        step, first = failed[0]
        some = f"{count(len(failed))} of {count(len(case.steps.all))} steps failed"
        yield Finding(
            rule="steps-failed",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"{some}, the first in {first.call}",
            sentence=f"{some}, the first ({step.name}) with {first.said}: what follows is of the others alone.",
            steps=words.names(each for each, _ in failed),
            because=tuple(f"{each.name}: {error.said}" for each, error in failed),
            next=("See that the directory is there and can be written to, then run again.",),
        )


def _is_told(error: Failure) -> bool:
    return error.call not in SYNC_CALLS | WRITE_CALLS and error.errno not in _UNSUPPORTED
