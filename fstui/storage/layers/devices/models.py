"""The model table: what a disk's model says of its medium and provider, and what hypervisors do with flushes.

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
    """What a model says. ``class_`` is unknown if it says nothing of the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None: the drive's own report counts."""
    ephemeral: bool | None = None
    grade: Grade
    says: str
    cloud: str | None = None
    """The provider, as in ``Host.cloud``."""
    promise: str | None = None
    """What the provider documents about durability; None: no such document was read."""
    survives: str | None = None
    """For a disk that belongs to its instance: which events keep its data, and which lose it."""
    writes: Writes = "in place"
    """Where a hard disk writes: in place, to a log on its platters, or to its own flash."""
    near: bool = False
    """A volume that is reached by RDMA and answers within tens of microseconds."""


class Hypervisor(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hypervisor, and what it is known to do with a guest's flush."""

    name: str
    habit: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """models.toml."""

    model: tuple[Model, ...]
    vmbus: tuple[Model, ...]
    """Rows for disks whose model says nothing, by the id of the controller on Hyper-V's bus and the unit."""
    hypervisor: tuple[Hypervisor, ...]


@cache
def table() -> Table:
    data = pkgutil.get_data(__package__, "models.toml")
    assert data is not None, "it is part of the package"
    return msgspec.toml.decode(data, type=Table)


@lru_cache(maxsize=4096)
def known(model: str | None) -> Model | None:
    """Return the first row that fits a model, or None."""
    return None if not model else next((row for pattern, row in _patterns() if pattern.search(model)), None)


def on_vmbus(unit: str) -> Model | None:
    """Return the row that fits a unit on Hyper-V's bus (``f8b3781b-… lun 0``), or None."""
    return next((row for row in table().vmbus if re.search(row.pattern, unit)), None)


def habit(virtualization: str | None) -> str | None:
    """Return what that hypervisor is known to do with flushes, or None."""
    return next((row.habit for row in table().hypervisor if row.name == virtualization), None)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Model], ...]:
    return tuple((re.compile(row.pattern, re.IGNORECASE), row) for row in table().model)
