"""Rotating disks whose speed was read or declared, and steps with rates like theirs."""

from typing import Any

from fstui.model.storage import Medium, Target
from tests.factories.steps import own_time, step
from tests.factories.storage import disk, filesystem, on_disk

READ = Medium(class_="hdd-7200", rpm=7200, reason="it states 7200 rpm")
DECLARED = Medium(class_="hdd-7200", declared=True)
NO_CACHE = Medium(class_="hdd-7200", write_cache="none", declared=True)
SPINNING = on_disk(filesystem(), disk(medium=READ))


def declared(medium: Medium = DECLARED) -> Target:
    return on_disk(filesystem(below=("vda",)), disk("vda", link="virtio", rotational=True, medium=medium))


def same_block(rate: float, own: float = 0.9, **changes: Any) -> Any:
    """Return a step that rewrites one block. ``own``: the share of the time in which each disk is busy."""
    done = step("same block, fdatasync", offsets="same", rate=rate, ops=int(rate), **{"device": "sda", **changes})
    return own_time(done, own * 1000 / rate)


def o_direct(rate: float, **changes: Any) -> Any:
    wanted: dict[str, Any] = {"flushes": 0, "sync": "none", "open_flags": ("direct",), "device": "vda"}
    return step("O_DIRECT", rate=rate, ops=int(rate), **(wanted | changes))
