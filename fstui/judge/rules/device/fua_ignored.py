"""*suspicious, medium confidence*

## What it means
A write with O_DIRECT and O_DSYNC is marked FUA: the drive must have it on the medium before it answers. Here such a
write costs no more than a plain one, while write + flush costs more than five times as much.

## How it was measured
Typical times of three steps: O_DIRECT alone (Tw), O_DIRECT+O_DSYNC (Td), write + fdatasync (Ts): Td < 1.5 × Tw and Ts >
5 × Td, on a lowest device that supports FUA and has its cache on; of an SSD also Td below the 200 µs that NAND takes to
be programmed, as a slower write may be on it, forced or not, and a flush that takes them. Published case: ADATA
SX8200PNP, 94 385, 91 375 (O_DSYNC) and 2 767 (fdatasync) per second.

## What it proves, and what not
It speaks of FUA alone: fdatasync may be fine. The reverse, FUA slower than a flush, is normal. md always claims FUA, so
only lowest devices count; a protected cache may answer FUA at once, so such drives are left alone, and so is what lies
behind an adapter or a driver that hides it (a RAID controller may force from its own cache and flush to its drives) or
beyond a network: Linux's own NVMe target says that it has a volatile cache whatever its disk has
(drivers/nvme/target/admin-cmd.c), and the network's time stands in each of the three. Nor of Hyper-V and WSL2, whose
host may write each write of a guest through, forced or not, and flush its filesystem for a flush (Microsoft, Hyper-V
storage: caching layers and implications for data consistency).

## What to do next
Let the database use fdatasync instead of O_DSYNC (`wal_sync_method`, `innodb_flush_method`). To prove it: a power cut
with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost
from fstui.judge.facts.limits import NAND_PROGRAM_NS
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns
from fstui.model.storage import Node
from fstui.storage.layers.devices.caches import may_outlive_power_cut
from fstui.storage.layers.devices.disk import over_own_network
from fstui.storage.layers.devices.links import link

TIMES = 5
"""A forced write that is so much cheaper than write and flush did not wait for the medium."""
ALIKE = 1.5


@rule(place=30)
def fua_ignored(case: Case) -> Iterator[Finding]:
    """A forced write costs no more than a plain one, while a flush costs many times as much."""
    lowest = case.stack.lowest
    write, forced, flushed = case.costs.write, case.costs.dsync, case.costs.synced
    if not (lowest and write and forced and flushed) or any(map(_may_answer_at_once, lowest)):
        return
    sends_fua = all(node.fua and node.write_cache == "write back" for node in lowest)
    alike = forced.ns < ALIKE * write.ns and not _may_be_as_flash_is(lowest, write, forced, flushed)
    if sends_fua and flushed.ns > TIMES * forced.ns and alike:
        yield _ignored(lowest, write, forced, flushed)


def _may_answer_at_once(node: Node) -> bool:
    """Its cache is protected, or lies where nobody sees whether it is; or its host forces every write."""
    class_ = node.medium.class_ if node.medium is not None else "unknown"
    hidden = node.link is None or link(node.link).may_be_an_array
    out_of_sight = class_ == "network" or (class_ == "unknown" and hidden)
    forced_by_host = link(node.link).writes_through
    return may_outlive_power_cut(node) or over_own_network(node) or out_of_sight or forced_by_host


def _may_be_as_flash_is(lowest: tuple[Node, ...], write: Cost, forced: Cost, flushed: Cost) -> bool:
    """What takes so long may be on the NAND, forced or not, and its map is what a flush writes; and a flush that takes
    less programs nothing either, as where the cache is protected: it is no measure of what FUA should cost."""
    flash = any(node.medium is not None and node.medium.class_ == "ssd" for node in lowest)
    return flash and (forced.ns >= NAND_PROGRAM_NS or flushed.ns - write.ns < NAND_PROGRAM_NS)


def _ignored(lowest: tuple[Node, ...], write: Cost, forced: Cost, flushed: Cost) -> Finding:
    where, steps = words.devices(lowest), (write.step, forced.step, flushed.step)
    return Finding(
        rule="fua-ignored",
        verdict="suspicious",
        confidence="medium",
        scope="storage",
        title=f"a forced write takes {duration_ns(forced.ns)}, a flushed one {duration_ns(flushed.ns)}",
        sentence=f"{where} answered a forced write (FUA) after {duration_ns(forced.ns)}, as fast as a plain one "
        f"({duration_ns(write.ns)}); write and flush take {duration_ns(flushed.ns)}, {flushed.ns / forced.ns:.1f} × as "
        f"long, in {words.time_measured(steps)}. It seems to ignore FUA.",
        steps=words.names(steps),
        because=(
            write.because,
            forced.because,
            flushed.because,
            *(words.read(node, "FUA", "supported", f"/sys/block/{node.id}/queue/fua") for node in lowest),
        ),
        next=(
            "Let the database sync with fdatasync, not O_DSYNC: PostgreSQL wal_sync_method=fdatasync, InnoDB "
            "innodb_flush_method=O_DIRECT.",
            words.CUT_THE_POWER,
        ),
    )
