"""The model table: what a disk's model says of its medium, whose volume it is, and what hypervisors do with flushes.

The data, with its sources, is in models.toml.
"""

from __future__ import annotations

import pkgutil
import re
from functools import cache, lru_cache
from typing import Literal

import msgspec

from fstui.model.storage import MediumCache, MediumClass

Grade = Literal["consumer", "data centre", "cloud", "raid", "array", "virtual", "hard disk"]
Writes = Literal["in place", "log", "flash"]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str


class Model(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model says. ``class_`` is unknown where it says nothing of the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None where the drive's own word counts."""
    ephemeral: bool | None = None
    grade: Grade
    says: str
    cloud: str | None = None
    """Whose it is, as in ``Host.cloud``."""
    promise: str | None = None
    """What its provider documents of what was written; None where no such document was read."""
    survives: str | None = None
    """Of a disk that belongs to its instance: what keeps its data, and what loses it."""
    writes: Writes = "in place"
    """Where a hard disk puts what it is given: on its place, in a log on its platters, or in flash of its own."""
    near: bool = False
    """A volume that is reached by RDMA, which answers within tens of microseconds."""


class Hypervisor(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a hypervisor is known to do with a guest's flush."""

    name: str
    habit: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """models.toml."""

    model: tuple[Model, ...]
    vmbus: tuple[Model, ...]
    """By the id of the controller on Hyper-V's bus, and the unit, for disks whose model says nothing."""
    hypervisor: tuple[Hypervisor, ...]


@cache
def table() -> Table:
    """The whole table, read once."""
    data = pkgutil.get_data(__package__, "models.toml")
    assert data is not None, "it is part of the package"
    return msgspec.toml.decode(data, type=Table)


@lru_cache(maxsize=4096)
def known(model: str | None) -> Model | None:
    """The first row that fits a model; None where none does, or no model is told."""
    return None if not model else next((row for pattern, row in _patterns() if pattern.search(model)), None)


def on_vmbus(unit: str) -> Model | None:
    """The row that fits a unit on Hyper-V's bus (``f8b3781b-… lun 0``), or None."""
    return next((row for row in table().vmbus if re.search(row.pattern, unit)), None)


def habit(virtualization: str | None) -> str | None:
    """What that hypervisor is known to do with flushes, or None."""
    return next((row.habit for row in table().hypervisor if row.name == virtualization), None)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Model], ...]:
    return tuple((re.compile(row.pattern, re.IGNORECASE), row) for row in table().model)
