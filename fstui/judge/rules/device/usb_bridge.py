"""*cannot-tell*

## What it means
The disk is behind a USB bridge which says that there is no write cache. The kernel believes it and sends no flush,
while the drive behind may well have a cache.

## How it was measured
The link of the device and `queue/write_cache`; the bridge's name from its USB descriptors.

## What it proves, and what not
It accuses nobody: some bridges are right. Where the drive itself says that its cache is on, `write-through-override`
speaks; where a declared platter turns as slowly as it should, that counts instead.

## What to do next
Ask the drive: `hdparm -W`, `smartctl -d sat -g wcache`. Or connect it without the bridge, and run again.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.storage import Node
from fstui.storage.layers.devices.disk import facts
from fstui.storage.layers.devices.links import link


@rule(place=20)
def usb_bridge(case: Case) -> Iterator[Finding]:
    """A USB bridge says "write through" of whatever drive is behind it."""
    found = [node for node in case.stack.lowest if link(node.link).hides_drive and node.write_cache == "write through"]
    if found and not case.configuration.breaks_sync and not case.rotation.answers:
        where = words.devices(found)
        yield Finding(
            rule="usb-bridge",
            verdict="cannot-tell",
            confidence="medium",
            scope="storage",
            title=f"{where}: a USB bridge hides the drive's cache",
            sentence=f"{where} is behind a USB bridge that states no write cache, so the kernel sends no flush. Many "
            "bridges do not pass on what the drive has; whether a sync is safe cannot be told from here.",
            because=tuple(line for node in found for line in _lines(node)),
            next=(
                "Ask the drive itself: hdparm -W, smartctl -g wcache (through the bridge: smartctl -d sat).",
                "Connect the drive without the bridge and run again.",
            ),
        )


def _lines(node: Node) -> Iterator[str]:
    yield words.write_cache(node)
    if bridge := facts(node).bridge:
        yield words.reading(node, bridge.reading)
