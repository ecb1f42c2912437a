"""*not-durable, high confidence*

## What it means
Barriers are on, the device has its write cache on, and still fewer flushes arrived than expected of the filesystem:
those of more than one sync or 0.2 % are missing; of more than a tenth
where two or more are expected at the least and nobody knows exactly how many. Something above the driver drops them,
always or for a time.

## How it was measured
Flushes per sync of each step with one writer and at least 20 syncs, field 16 of `/sys/block/X/stat`, on every layer
that counts, against what the filesystem is expected to send (see `flushes-arrive`). FUA writes are not counted there,
so O_DIRECT+O_DSYNC sends none on a device with FUA. The same is asked of each short turn of a step: a lapse hides in
the whole. As root the kernel's trace tells whose each flush and FUA write was at the layer that the filesystem hands
them to: too few of fstui's own are too few, however many others sent; what a journal's thread asked for may be fstui's,
and counts for it. A layer that was asked and passed nothing on is named.

## What it proves, and what not
Other writers only add flushes, so too few stays too few. It does not tell who drops them: a seccomp filter that fakes
the sync calls, a driver, a layer between; or the filesystem itself: ext4 without a journal sends none for fdatasync
and O_DSYNC on Linux 6.1 (a power cut there loses what was acknowledged), and does on 6.18; ext4 with a journal on a
device of its own flushes only that one for an fsync that commits (6.12: 477 of 477 records lost in two cuts).

## What to do next
`grep Seccomp /proc/self/status`; repeat outside the container; repeat on another filesystem of the same disk.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flush_words import look_above
from fstui.judge.facts.flushes import FlushAccount, Sent, fewest_flushes
from fstui.judge.facts.traced import TRACE, Withheld
from fstui.model.judgement import Finding
from fstui.model.quantities import count, ratio
from fstui.model.storage import Node
from fstui.storage.layers.facts import barriers
from fstui.storage.layers.filesystems import ext

_WITHOUT_JOURNAL = (
    "ext4 without a journal sends no flush for fdatasync and O_DSYNC on Linux 6.1, and does on 6.18: give it a journal "
    "(tune2fs -O has_journal) or take a newer kernel."
)
_JOURNAL_APART = (
    "ext4 whose journal has a device to itself flushes that one alone for an fsync that commits (Linux 6.12): sync "
    "with fdatasync, or keep the journal with the data."
)


@rule(place=10)
def flushes_missing(case: Case) -> Iterator[Finding]:
    """Barriers on, cache on, and the flushes expected of the filesystem did not arrive."""
    lacking = case.flushes.lacking_flushes
    if lacking:
        worst = fewest_flushes(lacking)
        sent = worst.sent
        where, share, expected = words.devices(sent.devices), ratio(sent.each), words.expected(sent.expected)
        yield Finding(
            rule="flushes-missing",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"{share} flushes per sync at {where}, {expected} expected",
            sentence=f"{count(worst.syncs)} syncs ({worst.step.name}) reached {where} as "
            f"{count(sent.flushes)} flushes{_of_ours(sent)} in {words.time_measured([worst.step])}: {share} each, "
            f"where {words.named(worst.level.filesystem)} expects {expected}. {_by_whom(case, worst)} drops them"
            f"{' for a time' if case.flushes.for_a_time(worst) else ''}, so a power cut loses what the write cache "
            "holds.",
            steps=words.names(account.step for account in lacking),
            because=(
                *(account.flush_line for account in lacking),
                *(pair.because for pair in _withheld(case)),
                *_cache_beneath(worst),
            ),
            next=(
                *_cure(worst.level.filesystem),
                look_above(case.stack, worst.level),
                "Repeat on another filesystem of the same disk: the same there points at the disk's driver.",
            ),
        )


def _cure(filesystem: Node) -> Iterator[str]:
    if ext.facts(filesystem).without_journal:
        yield _WITHOUT_JOURNAL
    if ext.journal_apart(filesystem):
        yield _JOURNAL_APART


def _of_ours(sent: Sent) -> str:
    if sent.traced is None:
        return ""
    others = f", while others asked for {count(sent.traced.others)}" if sent.traced.others else ""
    return f" of its own, by {TRACE}{others},"


def _by_whom(case: Case, account: FlushAccount) -> str:
    if not account.lacks_ours:
        for pair in _withheld(case):
            return words.named(pair.above)
    filesystem = account.level.filesystem
    if ext.facts(filesystem).without_journal or ext.journal_apart(filesystem):
        return "The filesystem itself, or something below it,"
    return "Something above the driver"


def _withheld(case: Case) -> tuple[Withheld, ...]:
    return tuple(pair for pair in case.flushes.withheld if pair.below.write_cache != "write through")


def _cache_beneath(account: FlushAccount) -> Iterator[str]:
    barrier = barriers(account.level.filesystem)
    if barrier:
        yield words.reading(account.level.filesystem, barrier.reading)
    yield from map(words.write_cache, account.devices)
