"""Operations that failed or did not return."""

import errno
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.steps import SYNC_CALLS, WRITE_CALLS
from fstui.judge.speed.stalls import stalled_steps, without_cpu_ns
from fstui.measure.wire.stdio import SHUTDOWN_ERRNOS
from fstui.model.quantities import count, counted, duration_ns, seconds
from fstui.model.steps import Failure, PendingOperation, Step

MIN_BLOCKED_S = 1.0
MIN_TIMES_P50 = 5
"""An operation counts as blocked if it takes at least this many times the p50."""
_OTHER_CALLS = frozenset({"chdir", "fallocate", "mmap", "open", "sysbench"})
_UNSUPPORTED_ERRNOS = frozenset({errno.EINVAL, errno.EOPNOTSUPP})
_FULL_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT})
_NEXT_WHEN_BLOCKED = (
    "Look at the kernel's log: 'dmesg' names blocked tasks.",
    "See which process waits for which device: 'sudo fstui watch'. fsfreeze and snapshots delay every write.",
)
_CHECK_DIRECTORY = "Check that the directory exists and is writable, then run again."
_FREE_SPACE = "Free some space, then run again."
_SAVE_DATA = "Copy the data off first. Then look at 'dmesg' and 'smartctl -a DEVICE'."


@rule(order=20)
def sync_error(case: Case) -> Iterator[Conclusion]:
    """* not-durable, high confidence: a sync failed with an I/O error
    * cannot-tell, high confidence: a sync failed with another error, or the filesystem shut down
    * a note: in all other cases

    ## What it means
    A sync or a write failed. After a failed sync, the kernel may have marked the pages clean. A second sync then
    succeeds although the data is gone.

    ## How it was measured
    fstui saw which call failed, and with which error:

    - not-durable: fsync, fdatasync, msync or a write with O_DSYNC failed with EIO
    - cannot-tell: a sync failed with an error other than EIO, ENOSPC and EDQUOT
    - cannot-tell: an earlier sync had succeeded or the stack changed, and a write, open, chdir or fstui's own database
      server failed because the filesystem shut down or its device is gone (such as EIO, EROFS, ENODEV)
    - a note: the disk was full (ENOSPC), a quota was reached (EDQUOT), or a write failed with another error

    ## What it proves, and what it does not
    Assume that everything that was not synced before the failure is lost. The cause may be the disk or the path to it.
    If a sync failed with another error, the data may not be durable, even if other syncs sent flushes.

    ## What to do next
    First, copy the data to another disk. Then look at `dmesg` and `smartctl -a DEVICE`.
    """
    for step in case.steps.all:
        if step.error is None:
            continue
        if _has_shut_down(case, step, step.error):
            yield _shut_down(case, step, step.error)
        elif step.error.call in SYNC_CALLS | WRITE_CALLS:
            yield _failed(case, step, step.error)


def _has_shut_down(case: Case, step: Step, error: Failure) -> bool:
    """Return whether the filesystem has shut down; False for EIO on a synced write, because data is lost then.

    The error may also be that of fstui's own database server, in a message of sysbench.
    """
    is_loss = error.errno == errno.EIO and error.call in WRITE_CALLS and _writes_are_synced(case, step)
    is_unsupported = (error.call, error.errno) == ("mmap", errno.ENODEV)  # mmap(2): no mappings on this filesystem
    calls = WRITE_CALLS | (_OTHER_CALLS if step.settings.existing_server is None else frozenset())
    has_failed = error.errno in SHUTDOWN_ERRNOS and error.call in calls
    return has_failed and not (is_loss or is_unsupported)


def _shut_down(case: Case, step: Step, error: Failure) -> Conclusion:
    has_syncs = bool(case.steps.synced)
    # if the stack changed as well, because the device is gone, say what failed and not only what changed
    decides = has_syncs or bool(step.changed)
    earlier = " Earlier syncs prove nothing about storage that has failed since." if has_syncs else ""
    name = errno.errorcode[error.errno or 0]
    state = "has become read-only" if error.errno == errno.EROFS else "has shut down, or its storage is gone"
    return Conclusion(
        title=f"{error.call} failed with {name}",
        sentence=f"In step {step.name}, {error.call} failed with {name}: the filesystem {state}.{earlier}",
        verdict="cannot-tell" if decides else None,
        scope="storage" if decides else "step",
        steps=[step],
        evidence=(f"{step.name}: {error.call}: {error.message}",),
        next=(_SAVE_DATA,),
    )


def _failed(case: Case, step: Step, error: Failure) -> Conclusion:
    is_loss = error.errno == errno.EIO and (error.call in SYNC_CALLS or _writes_are_synced(case, step))
    is_refusal = error.call in SYNC_CALLS and error.errno not in _FULL_ERRNOS | {errno.EIO}
    name = errno.errorcode.get(error.errno or 0, "an error")
    # Without an errno it was a short write: part of the data was written, and no error reported.
    outcome = f"failed with {name}" if error.errno is not None else "wrote only a part"
    return Conclusion(
        title=f"{error.call} {outcome}",
        sentence=f"In step {step.name}, {error.call} {outcome} after {counted(step.ops, 'operation')}, in "
        f"{words.time_measured([step])}. {_consequence(error, is_loss=is_loss, is_refusal=is_refusal)}",
        verdict="not-durable" if is_loss else "cannot-tell" if is_refusal else None,
        scope="storage" if is_loss or is_refusal else "step",
        steps=[step],
        evidence=(f"{step.name}: {error.call}: {error.message}",),
        next=(_SAVE_DATA,) if error.errno == errno.EIO else (),
    )


def _consequence(error: Failure, *, is_loss: bool, is_refusal: bool) -> str:
    if is_loss:
        return "The kernel may have marked the pages clean: then a second sync succeeds although the data is gone."
    if error.errno in _FULL_ERRNOS:
        limit = "A quota was reached" if error.errno == errno.EDQUOT else "The disk was full"
        if error.call not in SYNC_CALLS:
            return f"{limit}. Earlier syncs are not affected."
        return (
            f"{limit}, so accepted writes are lost. The program received the error, so nothing was acknowledged as "
            "durable. Earlier syncs are not affected."
        )
    if is_refusal:
        return "The sync failed, and the program received the error. Other syncs say nothing about this one."
    return "The step ended there. Earlier syncs are not affected."


def _writes_are_synced(case: Case, step: Step) -> bool:
    write_step = case.steps.as_write_step(step)
    flags = write_step.settings.open_flags if write_step else ()
    return "dsync" in flags or "sync" in flags


@rule(order=35, precedes_verdict=True)
def steps_failed(case: Case) -> Iterator[Conclusion]:
    """*a note: it is shown before the verdict, and does not change it*

    ## What it means
    Some steps did not finish, and only the other steps are judged. For example, the filesystem was unmounted, the test
    directory was moved or removed, or a database did not start.

    ## How it was measured
    The database reported an error, or the process that writes the test data did. If only syncs and writes failed, there
    is no note: they have a rule of their own, `sync-error`. A step that the filesystem does not support, for example
    one with O_DIRECT, does not count.

    ## What it proves, and what it does not
    The note says nothing about the storage.

    ## What to do next
    Check that the directory exists and is writable, and that the disk is not full. If a database did not start, read
    its error in the result. Then run again.
    """
    errors = [(step, step.error) for step in case.steps.all if step.error is not None]
    failed = [(step, error) for step, error in errors if error.errno not in _UNSUPPORTED_ERRNOS]
    has_step_failure = any(
        error.call not in SYNC_CALLS | WRITE_CALLS and not _has_shut_down(case, step, error) for step, error in failed
    )
    if has_step_failure and len(failed) < len(case.steps.all):
        step, first_error = failed[0]
        failed_of_all = f"{count(len(failed))} of {count(len(case.steps.all))} steps failed"
        yield Conclusion(
            title=f"{failed_of_all}, the first in {first_error.call}",
            sentence=f"{failed_of_all}, and only the others are judged. First error, in {step.name}: "
            f"{first_error.text}.",
            scope="step",
            steps=(failed_step for failed_step, _ in failed),
            evidence=(f"{failed_step.name}: {error.text}" for failed_step, error in failed),
            next=(_FREE_SPACE if first_error.errno in _FULL_ERRNOS else _CHECK_DIRECTORY,),
        )


@rule(order=25, precedes_verdict=True)
def stood_still(case: Case) -> Iterator[Conclusion]:
    """* cannot-tell, high confidence: an operation never returned
    * a note: a long operation returned, and `is-it-slow` does not rate it

    ## What it means
    If one operation had not returned when fstui stopped waiting, all I/O stopped. The storage may be gone.

    ## How it was measured
    The operation took at least 1 s, and at least five times the median (p50). If it returned, it took at least half of
    the step, without the time in which fstui waited for a CPU.

    ## What it proves, and what it does not
    Earlier acknowledgements prove nothing about storage that no longer responds. The cause may be above the disk:

    - a frozen filesystem (`fsfreeze`, a snapshot) or a full journal
    - a limit of the cgroup
    - a checkpoint of a database, or a page cache that writes other files

    If the device did other work during that time, the device was not the cause.

    ## What to do next
    `dmesg` names blocked tasks. `fstui watch`, as root, shows which process waits for which device.
    """
    blocked = [(step, step.unanswered) for step in case.steps.all if step.unanswered and _is_blocked(step)]
    if blocked:
        worst, pending = max(blocked, key=lambda item: item[1].elapsed_s)
        duration = duration_ns(1e9 * pending.elapsed_s)
        yield Conclusion(
            title=f"all I/O stopped for {duration}",
            sentence=f"All I/O of {worst.name} stopped for {duration} of {seconds(worst.observed_s)}: {pending.call} "
            "had not finished when fstui stopped waiting.",
            verdict="cannot-tell",
            steps=[step for step, _ in blocked],
            evidence=(line for step, operation in blocked for line in _evidence_lines(step, operation)),
            next=_NEXT_WHEN_BLOCKED,
        )
    excluded = [step for step, _ in blocked]
    excluded += [] if case.evidence.rate_limit else [stalled.step for stalled in stalled_steps(case)]
    returned = [step for step in case.steps.all if step not in excluded and _longest_returned_s(step)]
    if returned:
        slowest = max(returned, key=_longest_returned_s)
        duration = duration_ns(1e9 * _longest_returned_s(slowest))
        checkpoint = " This may be a checkpoint of the database." if slowest.settings.operation_name else ""
        yield Conclusion(
            title=f"one operation took {duration}",
            sentence=f"One operation of {slowest.name} took {duration} of the {seconds(slowest.elapsed_s)} of this "
            f"step.{checkpoint}",
            steps=returned,
            evidence=(
                f"{step.name}: {count(step.ops)} operations in {seconds(step.elapsed_s)}, one of "
                f"{duration_ns(1e9 * _longest_returned_s(step))}"
                for step in returned
            ),
            next=_NEXT_WHEN_BLOCKED,
        )


def _is_blocked(step: Step) -> bool:
    return step.unanswered is not None and step.unanswered.elapsed_s >= _min_blocked_s(step)


def _longest_returned_s(step: Step) -> float:
    """Return the longest operation if it took at least half of the step although fstui had a CPU, else 0."""
    longest_s = step.latency_ns.max / 1e9 if step.latency_ns and step.settings.uniform else 0.0
    is_long = longest_s - without_cpu_ns(step) / 1e9 >= max(_min_blocked_s(step), step.elapsed_s / 2)
    return longest_s if is_long else 0.0


def _min_blocked_s(step: Step) -> float:
    # of two operations, the p50 may be the blocked one
    usual_s = step.latency_ns.p50 / 1e9 if step.latency_ns and step.ops > 2 else 0.0
    return max(MIN_BLOCKED_S, MIN_TIMES_P50 * usual_s)


def _evidence_lines(step: Step, operation: PendingOperation) -> Iterator[str]:
    duration = duration_ns(1e9 * operation.elapsed_s)
    if step.ops:
        yield f"{step.name}: {count(step.ops)} operations in {seconds(step.elapsed_s)}, then one of {duration}"
    else:
        yield f"{step.name}: no operation returned"
    for device in step.counters:
        if not step.settings.operation_name and device.flushes and device.flushes > 2 * step.ops:
            yield f"{device.device} counted {count(device.flushes)} flushes in that time, most for other processes"
