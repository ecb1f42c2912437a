"""What the readings of a layer mean, where the values alone do not say it."""

from __future__ import annotations

from fstui.model.storage import Node, Reading

UNTORN = "atomic_write_unit_max_bytes"
"""A reading of a device or a filesystem: the largest write that it states to keep whole."""
DEVICE_UNSEEN = "device_unseen"
"""A reading of a filesystem: the path of one of its devices, which does not exist here. So that device is not in the
stack, although data may be on it."""
_OFF = frozenset({"nobarrier", "no", "0", "off"})


def number(node: Node, what: str) -> int | None:
    value = node.value(what)
    return int(value) if value is not None and value.isdecimal() else None


def switched_off(node: Node, what: str) -> Reading | None:
    """Return the reading of that name if it says that something is off."""
    reading = node.reading(what)
    return reading if reading is not None and reading.value in _OFF else None


def barriers_off(filesystem: Node) -> Reading | None:
    return switched_off(filesystem, "barrier")


def synced_by_mount(filesystem: Node) -> bool:
    """Return whether ``-o sync`` makes every write an O_DSYNC write."""
    return filesystem.value("sync_option") == "sync"


def is_read_only(device: Node) -> bool:
    """Return whether a loop device is read-only. The kernel then reports "write through", whatever is below it."""
    return device.value("ro") == "1"
