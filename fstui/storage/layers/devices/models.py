"""What a disk's model reveals about its medium and its provider. The data, with its sources, is in models.toml."""

import re
from functools import cache, lru_cache
from typing import Literal

import msgspec

from fstui.model import shipped
from fstui.model.storage import MediumCache, MediumClass

Grade = Literal["consumer", "data centre", "cloud", "raid", "array", "virtual", "hard disk"]
WritePlacement = Literal["in place", "log", "flash"]


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known about disks of a model. ``class_`` is unknown if the model does not reveal the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None: the drive's own report is used."""
    ephemeral: bool | None = None
    grade: Grade
    description: str
    """What the model identifies, as a phrase: "a network volume of AWS (EBS)"."""
    source: str
    cloud: str | None = None
    """The provider, as in ``Host.cloud``."""
    platform: str | None = None
    """The hypervisor, as in ``Host.virtualization``."""
    documented_durability: str | None = None
    """What the provider or the hypervisor documents about durability; None: no such document was read."""
    how_to_check: str | None = None
    """A sentence for the user: who can confirm that, and how."""
    data_lifetime: str | None = None
    """For an instance store: after which events its data is kept, and after which it is lost."""
    write_placement: WritePlacement = "in place"
    """Where a hard disk writes: in place, to a log on its platters, or to its own flash."""
    logs_without_cache: bool = False
    """A hard disk that writes to a log on its platters while its volatile write cache is off."""
    over_rdma: bool = False
    """A volume that is reached over RDMA and responds within tens of microseconds."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drives that, according to published reports, lose data from their cache even after a flush."""

    pattern: str
    firmware: str
    """A pattern for the revision as the kernel shows it, which for a SATA drive is only four characters."""
    description: str
    source: str


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[Model, ...]
    vmbus: tuple[Model, ...]
    """Disks whose model reveals nothing, by the id of the controller on Hyper-V's bus and the unit."""
    fault: tuple[Fault, ...]


@cache
def table() -> ModelTable:
    return shipped.packaged_table(__package__, "models.toml", ModelTable)


@lru_cache(maxsize=4096)
def find(model: str | None) -> Model | None:
    if not model:
        return None
    # each pattern is compiled when the search reaches it: all of them at once would delay the first screen
    return next((entry for entry in table().model if re.search(entry.pattern, model, re.IGNORECASE)), None)


def find_on_vmbus(unit: str) -> Model | None:
    """Return the entry for a unit on Hyper-V's bus (``f8b3781b-… lun 0``), or None."""
    return next((entry for entry in table().vmbus if re.search(entry.pattern, unit)), None)


def find_fault(model: str | None, firmware: str | None) -> Fault | None:
    if not model or not firmware:
        return None
    faults = (fault for fault in table().fault if re.search(fault.pattern, model))
    return next((fault for fault in faults if re.search(fault.firmware, firmware)), None)
