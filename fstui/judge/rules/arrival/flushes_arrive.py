"""*consistent: low confidence, medium where each lowest device was seen to work. cannot-tell where others write too*

## What it means
Every sync arrived below as the flushes that the filesystem is expected to send, and all synced bytes arrived with them.

## How it was measured
Flushes are field 16 of `/sys/block/X/stat`, read before and after each step with one writer, on every layer that
counts: whole disks and loop devices, not partitions, dm, md or zram. For an overwrite with fdatasync, ext4 and XFS send
one flush, btrfs two (one with FUA), ext4 `data=journal` two (Linux 6.1) or three (6.18), ZFS one to the devices that
hold its intent log. One sync or 0.2 % may be missing where exactly one flush is expected, else a tenth. What each layer
hands on is composed: every stripe, segment and leg gets each flush, paths share them. A flush of a loop device is an
fsync of its backing file and is followed further down.

As root the kernel's trace tells who asked, at the layer that the filesystem hands its flushes to, FUA writes and layers
that count nothing (dm, md, partitions) included. It is what is told where others write too.

## What it proves, and what not
It proves that nothing above the driver drops the flush, for the seconds measured. A drive, a bridge or a host that
acknowledges a flush and forgets it counts it all the same: above low confidence, each lowest device that holds what was
acknowledged was seen at work (`flush-flat`), or is known to lose nothing. Without a trace others' flushes cannot be
told from ours: where over 5 % too many arrive, or the idle device flushes for over 5 % of the syncs, it proves nothing.

## What to do next
Where others write: stop them, or use a disk of its own, and run again. Otherwise: cut the power in the middle of
acknowledged writes, with a witness on another box.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flush_words import not_told_apart, unproven, whose
from fstui.judge.facts.flushes import FlushAccount
from fstui.judge.facts.run_flushes import Proven
from fstui.model.judgement import Confidence, Finding
from fstui.model.quantities import count, rate, size


@rule(place=30)
def flushes_arrive(case: Case) -> Iterator[Finding]:
    """Every sync arrived as the flushes expected, with its bytes, as far down as can be counted."""
    proven = case.flushes.proven
    if proven and proven.depth:
        yield _arrived(case, proven)
    elif proven and proven.noisy:
        yield _drowned(case, tuple(way[0] for way in proven.ways))


def _arrived(case: Case, proven: Proven) -> Finding:
    proving = tuple(way for way in proven.ways if way[proven.depth - 1].outcome == "complete")
    amid_others = tuple(way for way in proving if way[proven.depth - 1].others_wrote)
    # else by what was counted; a FUA write, which no device counts, has its line besides
    ways = amid_others or tuple(way for way in proving if way[proven.depth - 1].proves_by_counters) or proving
    last = tuple(way[proven.depth - 1] for way in ways)
    sent = last[0].sent
    where, shares = words.devices(sent.devices), words.between([account.sent.each for account in last])
    rest = unproven(tuple(way[proven.depth] for way in ways if proven.depth < len(way)))
    unsampled = last[0].by_others_per_s is None and not sent.traced
    doubt = "" if rest else case.lowest_devices.doubt(known=last[0].devices)
    sure = case.lowest_devices.verified and sent.devices == last[0].devices
    confidence: Confidence = "medium" if sure and not (rest or unsampled) else "low"
    return Finding(
        rule="flushes-arrive",
        verdict="consistent",
        confidence=confidence,
        scope="storage",
        title=f"{shares} flushes per sync at {where}",
        sentence=f"{count(sum(account.syncs for account in last))} syncs reached {where} as {shares} flushes each "
        f"({words.expected(sent.expected)} expected){whose(last)}. {rest}This covers "
        f"{words.time_measured(account.step for account in last)}; only a power cut proves more.{doubt}",
        steps=words.names(account.step for account in last),
        because=(
            *(account.flush_line for way in ways for account in way[: proven.depth]),
            *(way[0].flush_line for way in proving if way not in ways),
            *(("idle: not measured, so other writers cannot be excluded",) if unsampled else ()),
        ),
        next=(words.CUT_THE_POWER,),
    )


def _drowned(case: Case, accounts: tuple[FlushAccount, ...]) -> Finding:
    first = accounts[0]
    where = words.devices(first.devices)
    shares = words.between([account.most_per_sync for account in accounts])
    who = f"Somebody else wrote to {where} meanwhile, or a layer between adds flushes of its own"
    if first.by_others_per_s and any(account.others_suffice for account in accounts):
        writers = f": {words.writers(case.others.writers)}" if case.others.writers else ""
        who = f"Others write to {where} ({rate(first.by_others_per_s)} flushes/s while fstui was idle){writers}"
    surplus = sum(account.surplus_bytes for account in accounts)
    bytes_too = f", and {size(surplus)} more than was written" if surplus else ""
    return Finding(
        rule="flushes-arrive",
        verdict="cannot-tell",
        confidence="low",
        scope="storage",
        title=f"{shares} flushes per sync at {where}, not all ours",
        sentence=f"{who}. In {words.time_measured(account.step for account in accounts)} {shares} flushes arrived per "
        f"sync ({words.expected(first.expected)} expected){bytes_too}: {not_told_apart(accounts)}.",
        steps=words.names(account.step for account in accounts),
        because=tuple(account.flush_line for account in accounts),
        next=(_without_the_others(case, where),),
    )


def _without_the_others(case: Case, where: str) -> str:
    """Nobody stops a database for a measurement."""
    servers = words.servers(case.others.writers)
    if not servers:
        return f"Stop the other writers on {where}, or use a disk of its own, and run again."
    return (
        f"Leave {servers} at work: 'fstui watch' says what it waits for, without writing a byte. To tell fstui's "
        "flushes from its own, run again as root (the kernel's trace tells them apart), or on a disk of its own."
    )
