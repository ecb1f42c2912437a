"""Drives of several media, and a cache in front of another drive."""

from typing import Any

from fstui.model.storage import Medium, Node, Target
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

NAND = Medium(class_="ssd", write_cache="volatile")
PLP = Medium(class_="ssd-plp", write_cache="plp", reason="the model says so")
OPTANE = Medium(class_="optane", write_cache="none")
CONTROLLER = Medium(class_="raid-cache")


def drive(medium: Medium, name: str = "sda", **changes: Any) -> Node:
    return disk(name, medium=medium, **changes)


def consumer(**changes: Any) -> Target:
    return on_disk(filesystem(), drive(**{"medium": NAND, "readings": readings(grade="consumer"), **changes}))


def over_cache(kind: str, mode: str | None, fast: Medium, slow: Medium, **changes: Any) -> Target:
    """Return a stack in which sda is the cache of sdb."""
    layer = block("top", kind, "sda1", "sdb1", readings=readings(**({"cache_mode": mode} if mode else {})))
    below = (
        block("sda1", "partition", "sda", readings=readings(role="cache")),
        block("sdb1", "partition", "sdb", readings=readings(role="origin")),
    )
    return target(filesystem(below=("top",)), layer, *below, drive(fast, **changes), drive(slow, "sdb", **changes))
