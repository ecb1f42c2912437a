"""Rules 7, 8 and 12: what the device's own words about its write cache are worth."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.costs import dsync_cost, synced_cost, write_cost
from fstui.judge.override import explained
from fstui.judge.physics import platter_speed
from fstui.judge.steps import names, time_measured
from fstui.model import Evidence, Finding, Node, Reading
from fstui.quantities import duration_ns

HOST_CACHE_NS = 60_000
"""A virtual disk that writes 16 KiB faster than this keeps them in the host's memory, or in a protected cache."""
FUA_TIMES = 5
"""A forced write that is so much cheaper than write and flush did not wait for the medium."""
_ALIKE = 1.5
_WITNESS = "To know: cut the power in the middle of acknowledged writes, with a witness on another box."


def virtio_no_flush(evidence: Evidence) -> Iterator[Finding]:
    """Rule 7: the host offers the guest no flush, so the kernel drops every one."""
    found = [node for node in _lowest(evidence) if node.link == "virtio" and node.write_cache == "write through"]
    without = [node for node in found if _says(node, "F_FLUSH", "no")]
    if explained(evidence) or platter_speed(evidence):
        return
    if without:
        yield _no_flush(evidence, without)
    elif found and all(_says(node, "F_FLUSH", "yes") and _says(node, "CONFIG_WCE", "yes") for node in found):
        where = words.devices(found)
        yield Finding(
            rule="virtio-no-flush",
            verdict="plausible",
            confidence="low",
            scope="storage",
            title=f"{where}: write through by the host's word",
            sentence=f"The host could give {where} a write cache and says that it has none: each write is durable when "
            "it is answered, if the host keeps that word.",
            because=tuple(line for node in found for line in _virtio_lines(node)),
            next=("On the host: cache=writethrough or directsync for this disk, in QEMU's words.",),
        )


def usb_bridge(evidence: Evidence) -> Iterator[Finding]:
    """Rule 8: a USB bridge says "write through" of whatever drive is behind it."""
    found = [node for node in _lowest(evidence) if node.link == "usb" and node.write_cache == "write through"]
    if found and not explained(evidence) and not platter_speed(evidence):
        where = words.devices(found)
        yield Finding(
            rule="usb-bridge",
            verdict="cannot-tell",
            confidence="medium",
            scope="storage",
            title=f"{where}: a USB bridge hides the drive's cache",
            sentence=f"{where} is behind a USB bridge that states no write cache, so the kernel sends no flush. Many "
            "bridges do not pass on what the drive has; whether a sync is safe cannot be told from here.",
            because=tuple(
                line
                for node in found
                for line in (
                    words.write_cache(node),
                    *(words.reading(node, it) for it in _readings(node, "usb_bridge")),
                )
            ),
            next=(
                "Ask the drive itself: hdparm -W, smartctl -g wcache (through the bridge: smartctl -d sat).",
                "Connect the drive without the bridge and run again.",
            ),
        )


def fua_ignored(evidence: Evidence) -> Iterator[Finding]:
    """Rule 12: a forced write costs no more than a plain one, while a flush costs many times as much."""
    lowest = _lowest(evidence)
    write, forced, flushed = write_cost(evidence), dsync_cost(evidence), synced_cost(evidence)
    if not (lowest and write and forced and flushed) or any(_protected(node) for node in lowest):
        return
    sends_fua = all(node.fua and node.write_cache == "write back" for node in lowest)
    if sends_fua and flushed.ns > FUA_TIMES * forced.ns and forced.ns < _ALIKE * write.ns:
        where, steps = words.devices(lowest), (write.step, forced.step, flushed.step)
        times = flushed.ns / forced.ns
        yield Finding(
            rule="fua-ignored",
            verdict="suspicious",
            confidence="medium",
            scope="storage",
            title=f"a forced write takes {duration_ns(forced.ns)}, a flushed one {duration_ns(flushed.ns)}",
            sentence=f"With O_DIRECT+O_DSYNC the kernel marks each write FUA: {where} must have it on the medium "
            f"before it answers. It answered after {duration_ns(forced.ns)}, as fast as without "
            f"({duration_ns(write.ns)}), while write and flush take {duration_ns(flushed.ns)}, {times:.1f} × as long, "
            f"in {time_measured(steps)}: it seems to ignore FUA.",
            steps=names(steps),
            because=(
                write.because,
                forced.because,
                flushed.because,
                *(words.read(node, "FUA", "supported", f"/sys/block/{node.id}/queue/fua") for node in lowest),
            ),
            next=(
                "Let the database sync with fdatasync, not O_DSYNC: PostgreSQL wal_sync_method=fdatasync, InnoDB "
                "innodb_flush_method=O_DIRECT.",
                _WITNESS,
            ),
        )


def _no_flush(evidence: Evidence, without: list[Node]) -> Finding:
    where, write = words.devices(without), write_cost(evidence)
    fast = write is not None and write.ns < HOST_CACHE_NS
    lines = tuple(line for node in without for line in _virtio_lines(node))
    sentence = (
        f"The host offers {where} no flush, so the kernel drops every one: what a sync is worth is up to the host, "
        "which may well have a protected cache."
    )
    if write and fast:
        sentence = (
            f"The host offers {where} no flush, so the kernel drops every one, and it answers an O_DIRECT write after "
            f"{duration_ns(write.ns)} (in {time_measured([write.step])}): too fast for most media, so the host's "
            "memory may be all that has it."
        )
    return Finding(
        rule="virtio-no-flush",
        verdict="suspicious" if fast else "cannot-tell",
        confidence="medium" if fast else "low",
        scope="storage",
        title=f"{where}: the host offers no flush",
        sentence=sentence,
        steps=names([write.step]) if write else (),
        because=(*([write.because] if write else []), *lines),
        next=(
            "On the host, give the disk a cache that flushes: QEMU cache=none or writeback; Firecracker "
            "cache_type=Writeback.",
            _WITNESS,
        ),
    )


def _lowest(evidence: Evidence) -> tuple[Node, ...]:
    return evidence.target.lowest if evidence.target else ()


def _says(node: Node, what: str, value: str) -> bool:
    return any(reading.value == value for reading in _readings(node, what))


def _readings(node: Node, what: str) -> list[Reading]:
    return [reading for reading in node.readings if reading.what == what]


def _virtio_lines(node: Node) -> tuple[str, ...]:
    found = (*_readings(node, "F_FLUSH"), *_readings(node, "CONFIG_WCE"))
    return (words.write_cache(node), *(words.reading(node, reading) for reading in found))


def _protected(node: Node) -> bool:
    """What a protected cache has may be answered: it outlives a power cut."""
    medium = node.medium
    return medium is not None and (medium.write_cache == "plp" or medium.class_ in {"optane", "ssd-plp", "raid-cache"})
