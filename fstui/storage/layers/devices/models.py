"""The model table: what a disk's model says of its medium and provider, and what platforms do with flushes.

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
    """What the model of a disk tells. ``class_`` is unknown if it does not tell the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None: the drive's own report counts."""
    ephemeral: bool | None = None
    grade: Grade
    says: str
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


class Platform(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A hypervisor or a storage service, and what it is known to do with a flush."""

    name: str
    """As in ``Host.virtualization`` if it is a hypervisor that can be recognised."""
    title: str
    dmi: str | None = None
    """A pattern of the host's name in DMI."""
    release: str | None = None
    """A pattern of the kernel's release."""
    kinds: tuple[str, ...] = ()
    """Filesystems and devices that it serves."""
    mounted_from: str | None = None
    """A pattern of the source of such a filesystem."""
    model: str | None = None
    """A pattern of the model of a disk that it serves."""
    recognised: str
    """How it is recognised from inside, in words."""
    habit: str
    """What its default does with a flush."""
    drops_flushes: bool = False
    """Its default is documented to acknowledge flushes without passing them on."""
    promise: str | None = None
    """What is documented about a write or a flush that it has acknowledged."""
    ask: str
    """Who can tell what it is configured to do, with which command, on which machine."""


class Fault(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drives with published reports that they lose what their cache holds, although it was flushed."""

    pattern: str
    firmware: str
    """A pattern of the revision as the kernel shows it. Of a SATA drive's revision it keeps four characters."""
    says: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """models.toml."""

    model: tuple[Model, ...]
    vmbus: tuple[Model, ...]
    """Rows for disks whose model says nothing, by the id of the controller on Hyper-V's bus and the unit."""
    platform: tuple[Platform, ...]
    fault: tuple[Fault, ...]


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


def platform(virtualization: str | None) -> Platform | None:
    """Return the hypervisor of that name, or None."""
    return next((row for row in table().platform if row.name == virtualization), None)


def named_by(*, dmi: str = "", release: str = "") -> str | None:
    """Return the hypervisor with this name in DMI or in the kernel's release, or None."""
    for row in table().platform:
        if (row.dmi and re.search(row.dmi, dmi)) or (row.release and re.search(row.release, release)):
            return row.name
    return None


def fault(model: str | None, firmware: str | None) -> Fault | None:
    """Return what was published against a drive with this model and firmware, or None."""
    if not model or not firmware:
        return None
    fits = (row for row in table().fault if re.search(row.pattern, model) and re.search(row.firmware, firmware))
    return next(fits, None)


def service(kind: str, name: str, model: str | None = None) -> Platform | None:
    """Return the service that provides a filesystem of this kind and source, or a device of this kind or model."""
    for row in table().platform:
        if row.model and model and re.search(row.model, model):
            return row
        if kind in row.kinds and (row.mounted_from is None or re.search(row.mounted_from, name)):
            return row
    return None


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Model], ...]:
    return tuple((re.compile(row.pattern, re.IGNORECASE), row) for row in table().model)
