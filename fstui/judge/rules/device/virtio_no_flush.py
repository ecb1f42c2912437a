"""*suspicious on Firecracker, and low where an O_DIRECT write takes less than 60 µs outside a named cloud, else
cannot-tell; plausible, low, where the host had a choice*

## What it means
The host offers this guest no flush (virtio feature F_FLUSH), so the kernel takes the disk for "write through" and drops
every flush. Either the host writes through, or nobody flushes at all.

## How it was measured
Bits 9 (F_FLUSH) and 11 (CONFIG_WCE) of `device/features`, and `queue/write_cache`; how the box is known for a guest of
Firecracker. Tw is the typical time of an O_DIRECT write of the run. With both bits and "write through" the host could
have offered a cache, and says that there is none.

## What it proves, and what not
A write in less than 60 µs is in somebody's memory, or in a protected drive's: back ends on such drives (SPDK, a DPU)
honestly offer no flush and are as fast. Which of the two, only the host's owner knows: it is a question to him, and
said with low confidence. Clouds that are known by name have such back ends, so there nothing is said by speed.
Firecracker offers none exactly where it was told never to flush (`Unsafe`, its default): there
the host's page cache has what was acknowledged, as fast or slow as it answers.

## What to do next
On the host: QEMU `cache=none` or `writeback`, Firecracker `cache_type=Writeback`. To know: cut the power of the *host*
with a witness on another box.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns
from fstui.model.storage import Node
from fstui.storage.layers.devices.disk import facts

HOST_CACHE_NS = 60_000
"""A virtual disk that writes 16 KiB faster than this keeps them in the host's memory, or in a protected cache."""


@rule(place=10)
def virtio_no_flush(case: Case) -> Iterator[Finding]:
    """The host offers the guest no flush, so the kernel drops every one."""
    found = [node for node in case.stack.lowest if node.link == "virtio" and node.write_cache == "write through"]
    without = [node for node in found if _lacks_flush(node)]
    if case.configuration.breaks_sync or case.rotation.answers:
        return
    if without:
        yield _no_flush(case, without, case.costs.write)
    elif found and all(map(_offers_both, found)):
        yield _by_its_word(found)


def _by_its_word(found: list[Node]) -> Finding:
    where = words.devices(found)
    return Finding(
        rule="virtio-no-flush",
        verdict="plausible",
        confidence="low",
        scope="storage",
        title=f"{where}: write through by the host's word",
        sentence=f"The host could give {where} a write cache and says that it has none: each write is durable when "
        "it is answered, if the host keeps that word.",
        because=tuple(line for node in found for line in _lines(node)),
        next=("On the host: cache=writethrough or directsync for this disk, in QEMU's words.",),
    )


def _no_flush(case: Case, without: list[Node], write: Cost | None) -> Finding:
    where = words.devices(without)
    unsafe = case.host.virtualization == "firecracker"
    fast = write is not None and write.ns < HOST_CACHE_NS
    dropped = f"The host offers {where} no flush, so the kernel drops every one"
    sentence = f"{dropped}: what a sync is worth is up to the host, which may well have a protected cache."
    if unsafe:
        sentence = f"{dropped}. Firecracker does so where it never flushes itself: its host's memory has the data."
    elif write and fast:
        sentence = (
            f"{dropped}, and it answers an O_DIRECT write after {duration_ns(write.ns)} (in "
            f"{words.time_measured([write.step])}): a protected drive's cache has it, or the host's memory alone."
        )
    return Finding(
        rule="virtio-no-flush",
        verdict="suspicious" if unsafe or (fast and case.host.cloud is None) else "cannot-tell",
        confidence="medium" if unsafe else "low",
        scope="storage",
        title=f"{where}: the host offers no flush",
        sentence=sentence,
        steps=words.names([write.step]) if write else (),
        because=(*([write.because] if write else []), *(line for node in without for line in _lines(node))),
        next=(
            "On the host, give the disk a cache that flushes: QEMU cache=none or writeback; Firecracker "
            "cache_type=Writeback.",
            words.CUT_THE_POWER,
        ),
    )


def _lacks_flush(node: Node) -> bool:
    told = facts(node).host_flushes
    return told is not None and not told.value


def _offers_both(node: Node) -> bool:
    """A flush, and a switch for the cache."""
    told = facts(node)
    return all(found is not None and found.value for found in (told.host_flushes, told.host_cache))


def _lines(node: Node) -> Iterator[str]:
    yield words.write_cache(node)
    told = facts(node)
    yield from (words.reading(node, found.reading) for found in (told.host_flushes, told.host_cache) if found)
