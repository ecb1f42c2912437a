"""What was read of a layer, as values with a type; each keeps its reading, which says where it stood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from fstui.model.storage import Node, Reading

T = TypeVar("T")

DEVICE_UNSEEN = "device_unseen"
"""Of a filesystem: the path of a device of its own that leads nowhere here."""
_BARRIERS_OFF = frozenset({"nobarrier", "0", "off"})
_NO = frozenset({"no", "0", "off", "never", "inode"})


class Fact(NamedTuple, Generic[T]):
    """A value, and the reading that says so."""

    value: T
    reading: Reading


def word(node: Node, what: str) -> Fact[str] | None:
    """The first reading of that name, as it stands."""
    reading = node.reading(what)
    return Fact(reading.value, reading) if reading is not None else None


def one_of(node: Node, what: str, meanings: Mapping[str, T]) -> Fact[T] | None:
    """What the first reading of that name means; None where nothing was read, or none of the words that are known."""
    reading = node.reading(what)
    return Fact(meanings[reading.value], reading) if reading is not None and reading.value in meanings else None


def number(node: Node, what: str) -> Fact[int] | None:
    """The first reading of that name as a number."""
    reading = node.reading(what)
    return Fact(int(reading.value), reading) if reading is not None and reading.value.isdecimal() else None


def barriers(filesystem: Node) -> Fact[bool] | None:
    """Whether it sends flushes; False: it was told not to."""
    reading = filesystem.reading("barrier")
    return Fact(reading.value not in _BARRIERS_OFF, reading) if reading is not None else None


def mounted_sync(filesystem: Node) -> Fact[bool] | None:
    """Whether it is mounted ``-o sync``; what that does, its kind tells (``sync_mount``)."""
    reading = filesystem.reading("sync_option")
    return Fact(reading.value == "sync", reading) if reading is not None else None


def flagged_sync(filesystem: Node) -> Fact[bool] | None:
    """Whether the directory of the run has ``chattr +S``, which does to its files what ``-o sync`` does to all."""
    return one_of(filesystem, "sync_flag", {"S": True})


def flagged_unchecked(filesystem: Node) -> bool:
    """The directory of the run has ``chattr +C``: on btrfs its files have no checksums."""
    return filesystem.reading("nocow_flag") is not None


def read_only(device: Node) -> Fact[bool] | None:
    """A read-only loop device says "write through", whatever is beneath: nobody writes."""
    return one_of(device, "ro", {"1": True, "0": False})


def zoned(device: Node) -> Fact[bool] | None:
    """Whether it is a shingled or zoned disk."""
    reading = device.reading("zoned")
    return Fact(reading.value != "none", reading) if reading is not None else None


def volatile(overlay: Node) -> Fact[bool] | None:
    """Whether an overlay was told to leave every sync out."""
    return _unless(overlay, "volatile")


def _unless(node: Node, what: str) -> Fact[bool] | None:
    reading = node.reading(what)
    return Fact(reading.value not in _NO, reading) if reading is not None else None
