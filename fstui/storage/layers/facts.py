"""Readings of a layer as typed values. Each value keeps its reading, which says where it was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

from fstui.model.storage import Node, Reading

T = TypeVar("T")

UNTORN = "atomic_write_unit_max_bytes"
"""A reading of a device or a filesystem: the largest write that it states to keep whole."""
DEVICE_UNSEEN = "device_unseen"
"""A reading of a filesystem: the path of one of its devices, which does not exist here."""
_OFF = frozenset({"nobarrier", "no", "0", "off"})


class Fact(NamedTuple, Generic[T]):
    """A value and its reading."""

    value: T
    reading: Reading


def word(node: Node, what: str) -> Fact[str] | None:
    """Return the first reading of that name, with its value as it was read."""
    reading = node.reading(what)
    return Fact(reading.value, reading) if reading is not None else None


def one_of(node: Node, what: str, meanings: Mapping[str, T]) -> Fact[T] | None:
    """Return the meaning of the first reading of that name; None if it was not read or has no known meaning."""
    reading = node.reading(what)
    return Fact(meanings[reading.value], reading) if reading is not None and reading.value in meanings else None


def number(node: Node, what: str) -> Fact[int] | None:
    reading = node.reading(what)
    return Fact(int(reading.value), reading) if reading is not None and reading.value.isdecimal() else None


def switch(node: Node, what: str) -> Fact[bool] | None:
    reading = node.reading(what)
    return Fact(reading.value not in _OFF, reading) if reading is not None else None


def barriers(filesystem: Node) -> Fact[bool] | None:
    return switch(filesystem, "barrier")


def mounted_sync(filesystem: Node) -> Fact[bool] | None:
    return one_of(filesystem, "sync_option", {"sync": True, "async": False})


def flagged_sync(filesystem: Node) -> Fact[bool] | None:
    """Return whether the directory of the run has ``chattr +S``, which does to its files what ``-o sync`` does."""
    return one_of(filesystem, "sync_flag", {"S": True})


def flagged_unchecked(filesystem: Node) -> bool:
    """Return whether the directory of the run has ``chattr +C``: on btrfs its files have no checksums."""
    return filesystem.reading("nocow_flag") is not None


def read_only(device: Node) -> Fact[bool] | None:
    """Return whether a loop device is read-only. It then says "write through", whatever is below."""
    return one_of(device, "ro", {"1": True, "0": False})


def zoned(device: Node) -> Fact[bool] | None:
    reading = device.reading("zoned")
    return Fact(reading.value != "none", reading) if reading is not None else None


def volatile(overlay: Node) -> Fact[bool] | None:
    return switch(overlay, "volatile")
