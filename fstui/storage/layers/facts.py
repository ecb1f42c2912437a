"""What some readings of a layer mean."""

from fstui.model.storage import Node, Reading

ATOMIC_WRITE_SIZE = "atomic_write_unit_max_bytes"
"""A reading of a device or a filesystem: the size of the largest write that is documented never to be torn."""
DEVICE_UNSEEN = "device_unseen"
"""A reading of a filesystem: the path or the purpose of one of its devices, if that device is not known here. The
device is then missing from the stack, although it may have data."""
SYNCED_WRITES = ("sync_option", "sync_flag")
"""Readings of a filesystem on which each write syncs itself: ``mount -o sync``, ``chattr +S``."""
_OFF = frozenset({"nobarrier", "no", "0", "off"})


def number(node: Node, what: str) -> int | None:
    value = node.value(what)
    return int(value) if value is not None and value.isdecimal() else None


def off_reading(node: Node, what: str) -> Reading | None:
    """Return the reading ``what`` if its value means that something is off, else None."""
    reading = node.reading(what)
    return reading if reading is not None and reading.value in _OFF else None


def barriers_off(filesystem: Node) -> Reading | None:
    return off_reading(filesystem, "barrier")


def is_read_only(device: Node) -> bool:
    """Return whether a loop device is read-only. The kernel then always reports "write through" for it."""
    return device.value("ro") == "1"
