"""*not-durable, high; cannot-tell behind a controller of an unknown name; a note where other copies get their flushes*

## What it means
The kernel takes a device for "write through" and drops every flush to it, although a volatile cache is behind it:
somebody wrote to `queue/write_cache`, which changes the kernel's view and not the device.

## How it was measured
`/sys/block/X/queue/write_cache` against what the drive itself answers (SCSI's caching mode page, which SATA drives have
by libata; `hdparm -W` and `smartctl` behind USB; NVMe's `vwc` and feature 6; root only), what the driver says
(`cache_type`), what udev found (`ID_ATA_WRITE_CACHE_ENABLED`), and what every layer beneath says, the filesystem of a
loop device's backing file included. A loop device without direct-io keeps data in the page cache: that is a cache too;
so does an nbd server of this box that offers no flush.

## What it proves, and what not
Flushes do not get past this layer: that is certain. The best witness counts alone: the drive, then the driver, then
udev, whose property dates from when the drive was found. One member of a btrfs mirror with checksums, or of a ZFS
mirror or raidz, loses nothing: its stale copies are recognised, and what the others flushed is read. A mirror of md or
dm has no checksums and may read the stale copy. A volume of an unknown name on a RAID controller, or by Fibre Channel,
may have a battery: cannot-tell. A device whose setting changed during the run is not accused: see `disturbed`.

## What to do next
`echo 'write back' > /sys/block/X/queue/write_cache`, then run again. On a loop device the setting outlives detaching.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.overrides import Override
from fstui.model.judgement import Finding, Verdict
from fstui.model.storage import Node

_DOUBLED = (
    ", but there is a volatile cache behind it. What it holds is elsewhere too, and checksums tell which copy is right:"
    " a power cut loses no data, but until a scrub it is there once fewer."
)
_UNSURE = (
    ", over a cache: durable only if that really outlives a power cut, and no name tells whether its controller has a "
    "battery."
)


@rule(place=60)
def write_through_override(case: Case) -> Iterator[Finding]:
    """The kernel was told "write through" about a device whose cache is on."""
    found = case.configuration.overrides
    for each in found.corrected:
        yield _said(each, None, "over a cache, and doubled", _DOUBLED)
    for each in found.hidden:  # whoever told the kernel so may know of a battery
        said = _said(each, "cannot-tell", "behind a controller", _UNSURE)
        yield replace(said, confidence="medium", next=(*words.CHECK_CONTROLLER, *said.next))
    for each in found.losing:
        beneath = (pair.because for pair in case.arrivals.withheld if pair.below == each.device)
        early = f", over a volatile cache: {case.arrivals.returned_early}."
        said = _said(each, "not-durable", "over a cache", early)
        yield replace(said, because=(*said.because, *case.arrivals.of_ours, *beneath))


def _said(override: Override, verdict: Verdict | None, title: str, rest: str) -> Finding:
    return Finding(
        rule="write-through-override",
        verdict=verdict,
        confidence="high",
        scope="storage",
        title=f"{override.device.id}: “write through” {title}",
        sentence=f"The kernel takes {override.device.id} for “write through” and drops every flush{rest}",
        because=(_view(override.device), *override.contradictions),
        next=(_next(override),),
    )


def _view(node: Node) -> str:
    return words.read(node, "kernel's view", "write through", _path(node))


def _next(override: Override) -> str:
    path = _path(override.device)
    if override.device.reading("server_syncs"):
        return "Let its server offer flushes (nbd-server: flush = true), connect again, then run again."
    return f"echo 'write back' > {path}, then run again. The setting outlives detaching a loop."


def _path(node: Node) -> str:
    return f"/sys/block/{node.id}/queue/write_cache"
