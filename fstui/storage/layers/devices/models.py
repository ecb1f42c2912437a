"""What a disk's model says about its medium and its provider. The data, with its sources, is in models.toml."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

import msgspec

from fstui.model import shipped
from fstui.model.storage import MediumCache, MediumClass

Grade = Literal["consumer", "data centre", "cloud", "raid", "array", "virtual", "hard disk"]
Writes = Literal["in place", "log", "flash"]


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of disks with a model. ``class_`` is unknown if the model does not show the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None: the drive's own report counts."""
    ephemeral: bool | None = None
    grade: Grade
    says: str
    source: str
    cloud: str | None = None
    """The provider, as in ``Host.cloud``."""
    platform: str | None = None
    """The hypervisor, as in ``Host.virtualization``."""
    promise: str | None = None
    """What the provider or the hypervisor documents about durability; None: no such document was read."""
    ask: str | None = None
    """Who can confirm the promise, and how."""
    survives: str | None = None
    """For a disk that belongs to its instance: which events keep its data, and which lose it."""
    writes: Writes = "in place"
    """Where a hard disk writes: in place, to a log on its platters, or to its own flash."""
    near: bool = False
    """A volume that is reached by RDMA and answers within tens of microseconds."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drives that, according to published reports, lose data of their cache although it was flushed."""

    pattern: str
    firmware: str
    """A pattern of the revision as the kernel shows it, which is only four characters for a SATA drive."""
    says: str
    source: str


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """models.toml."""

    model: tuple[Model, ...]
    vmbus: tuple[Model, ...]
    """Rows for disks whose model says nothing, by the id of the controller on Hyper-V's bus and the unit."""
    fault: tuple[Fault, ...]


@cache
def table() -> ModelTable:
    return shipped.table(__package__, "models.toml", ModelTable)


@lru_cache(maxsize=4096)
def known(model: str | None) -> Model | None:
    """Return the first row that fits a model, or None."""
    if not model:
        return None
    # each pattern is compiled when its row is reached: all of them at once would delay the first screen
    return next((row for row in table().model if re.search(row.pattern, model, re.IGNORECASE)), None)


def on_vmbus(unit: str) -> Model | None:
    """Return the row that fits a unit on Hyper-V's bus (``f8b3781b-… lun 0``), or None."""
    return next((row for row in table().vmbus if re.search(row.pattern, unit)), None)


def fault(model: str | None, firmware: str | None) -> Fault | None:
    if not model or not firmware:
        return None
    fits = (row for row in table().fault if re.search(row.pattern, model) and re.search(row.firmware, firmware))
    return next(fits, None)
