"""*not-durable, high confidence*

## What it means
Fewer flushes arrived than the filesystem is expected to send, although barriers and the device's write cache are on.
The filesystem did not send them, or a layer above the driver dropped them, during all or part of a step.

## How it was measured
fstui counted the flushes of each step with at least 20 syncs per writer. The page `flushes-arrive` shows how many
flushes are expected per sync. With n writers, which may share flushes, fstui divides the minimum by n. Flushes are
missing in two cases:

- The expected number is exact, or a range that starts at 1, and at least two syncs, and more than 0.2 % of the syncs,
  lack their flushes.
- The expected number is another range, such as 2 to 3, and less than 90 % of the smaller number arrived.

In a step with one writer, fstui also checks parts of the step. As root, fstui reads the kernel's trace (of a fast step,
often only the start), so that flushes of other processes cannot hide a shortage.

## What it proves, and what it does not
Other processes only add flushes, so it is certain that flushes are missing. fstui does not know which layer is the
cause. Possible causes:

- a library or a seccomp filter that fakes the sync calls
- a layer between the filesystem and the disk's driver
- ext4 without a journal on Linux 6.1: no flush for fdatasync and O_DSYNC
- ext4 with an external journal: an fsync that commits the journal flushes only the journal device (on Linux 6.12, two
  power cuts lost all 477 records)

## What to do next
If `grep Seccomp /proc/self/status` prints `Seccomp: 2`, a filter applies, often because fstui runs in a container:
repeat the run outside the container. Otherwise, repeat the run on another filesystem of the same disk.
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import Arrival, FlushAccount, fewest_flushes
from fstui.judge.facts.traced import TRACE
from fstui.model.quantities import count, ratio
from fstui.model.storage import Node
from fstui.storage.layers.filesystems import ext

_WITHOUT_JOURNAL = (
    "ext4 without a journal sends no flush for fdatasync and O_DSYNC on Linux 6.1, but sends one on 6.18. Add a "
    "journal (tune2fs -O has_journal), or use a newer kernel."
)
_EXTERNAL_JOURNAL = (
    "ext4 with an external journal flushes only the journal for an fsync that commits (Linux 6.12): sync with "
    "fdatasync, or keep the journal with the data."
)


@rule(order=10)
def flushes_missing(case: Case) -> Iterator[Conclusion]:
    missing = case.flushes.missing_flushes
    if not missing:
        return
    worst = fewest_flushes(missing)
    step, arrival, filesystem = worst.step, worst.arrival, worst.level.filesystem
    where, per_sync = words.devices(arrival.devices), ratio(arrival.per_sync)
    expected = words.expected_text(arrival.expected)
    yield Conclusion(
        title=f"{per_sync} flushes per sync at {where}, {expected} expected",
        sentence=f"{arrival.operations(step)} ({step.name}) produced {count(arrival.flushes)} flushes at {where}"
        f"{_trace_clause(arrival)} in {words.time_measured([arrival.part(step)])}: {per_sync} each, {expected} "
        f"expected from {words.label(filesystem)}. {_dropped_by(filesystem)} drops flushes"
        f"{' for a time' if case.flushes.is_temporary(worst) else ''}, so a power cut loses what the write cache "
        "holds.",
        verdict="not-durable",
        steps=[account.step for account in missing],
        evidence=(
            *(account.flush_line for account in missing),
            *_cache_lines(worst),
        ),
        next=(
            *_remedies(filesystem),
            case.flushes.advice(worst.level),
            "Repeat on another filesystem of the same disk. If flushes are missing there too, look at what both runs "
            "share: the container, a library, and the layers above the disk's driver.",
        ),
    )


def _remedies(filesystem: Node) -> Iterator[str]:
    if ext.has_no_journal(filesystem):
        yield _WITHOUT_JOURNAL
    if ext.has_external_journal(filesystem):
        yield _EXTERNAL_JOURNAL


def _trace_clause(arrival: Arrival) -> str:
    if arrival.trace is None:
        return ""
    others = arrival.trace.others
    others_clause = f", while other processes requested {count(others)}" if others else ""
    return f", according to {TRACE}{others_clause},"


def _dropped_by(filesystem: Node) -> str:
    if ext.has_no_journal(filesystem) or ext.has_external_journal(filesystem):
        return "The filesystem itself, or a layer below it,"
    return "A layer above the driver"


def _cache_lines(account: FlushAccount) -> Iterator[str]:
    yield from words.readings(account.level.filesystem, "barrier")
    yield from map(words.write_cache, account.devices)
