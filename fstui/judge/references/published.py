"""Published rates of one writer. The data and its sources: references.toml."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

import msgspec

from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.storage import MediumClass

Operation = Literal[
    "fdatasync", "fsync", "O_DSYNC", "O_DIRECT+fdatasync", "O_DIRECT+fsync", "O_DIRECT+O_DSYNC", "append+fdatasync",
    "O_DIRECT", "ioping",
]  # fmt: skip
_BY_SETTINGS: dict[tuple[tuple[str, ...], str], Operation] = {
    ((), "fdatasync"): "fdatasync",
    ((), "fsync"): "fsync",
    (("dsync",), "none"): "O_DSYNC",
    (("direct",), "fdatasync"): "O_DIRECT+fdatasync",
    (("direct",), "fsync"): "O_DIRECT+fsync",
    (("direct", "dsync"), "none"): "O_DIRECT+O_DSYNC",
    (("direct",), "none"): "O_DIRECT",
}


NEVER_SYNCED: tuple[Operation, ...] = ("O_DIRECT", "ioping")
ENOUGH = 8
"""Durable writes that were published of a class: fewer are no class."""


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One published measurement."""

    device: str
    medium: MediumClass
    link: str | None = None
    setup: str | None = None
    operation: Operation
    block_bytes: int | None = None
    per_s: float
    latency_us: float | None = None
    source: str
    note: str | None = None
    """Why it is to be read with care."""


class _Library(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reference: tuple[Reference, ...]


@cache
def library() -> tuple[Reference, ...]:
    """All of them, slowest first."""
    data = resources.files(__package__).joinpath("references.toml").read_bytes()
    return tuple(sorted(msgspec.toml.decode(data, type=_Library).reference, key=lambda reference: reference.per_s))


def published(operation: Operation | None, media: Iterable[MediumClass] = ()) -> tuple[Reference, ...]:
    """Those of an operation (None: of any) on any of these classes (none given: on all), slowest first."""
    wanted = set(media)
    return tuple(
        reference
        for reference in library()
        if operation in {None, reference.operation} and (not wanted or reference.medium in wanted)
    )


class PublishedClass(NamedTuple):
    """What durable writes of any kind reach on a class of medium."""

    name: str
    """``53 published on ssd``"""
    slowest_per_s: float


def class_of(media: frozenset[MediumClass]) -> PublishedClass | None:
    """Of these classes; None where fewer than ``ENOUGH`` were published, or where one of them is not known."""
    compared = expand(media)
    rates = [one.per_s for one in _durable() if one.medium in compared]
    if len(rates) < ENOUGH:
        return None
    of = ", ".join(sorted(media)) if compared == media else "rotating disks"
    return PublishedClass(f"{len(rates)} published on {of}", min(rates))


def any_class() -> PublishedClass:
    """Of all classes together."""
    rates = [one.per_s for one in _durable()]
    return PublishedClass(f"{len(rates)} published on any medium", min(rates))


def _durable() -> tuple[Reference, ...]:
    return tuple(one for one in library() if one.operation not in NEVER_SYNCED)


def operation_of(settings: SyncWrites) -> Operation | None:
    """What such a step does, in the library's words; None for what nobody published."""
    if settings.sync_every != 1 or settings.ops_per_s:
        return None
    if settings.prefill != "written":
        fills = settings.offsets in {"append", "sequential"}
        return "append+fdatasync" if fills and (settings.open_flags, settings.sync) == ((), "fdatasync") else None
    if settings.offsets in {"append", "sequential"}:
        return None
    return _BY_SETTINGS.get((settings.open_flags, settings.sync))


def expand(media: frozenset[MediumClass]) -> frozenset[MediumClass]:
    """Rotating disks are compared with rotating disks of any speed; where a class is unknown, with everything."""
    if not media or "unknown" in media:
        return frozenset()
    hdds: frozenset[MediumClass] = frozenset({"hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000"})
    return media | hdds if media & hdds else media
