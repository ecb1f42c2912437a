"""Rates to compare a run with: published ones (``references.toml``), and those that the user measured."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median
from typing import Any, Literal, NamedTuple

import msgspec

from fstui.judge.facts import Case
from fstui.judge.facts.steps import MIN_SYNCS, has_rate
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model import shipped
from fstui.model.errors import Refused
from fstui.model.judgement import NOT_TRUSTED
from fstui.model.quantities import counted
from fstui.model.run import OwnReference, Run
from fstui.model.storage import MediumClass

Operation = Literal[
    "fdatasync", "fsync", "O_DSYNC", "O_DIRECT+fdatasync", "O_DIRECT+fsync", "O_DIRECT+O_DSYNC", "append+fdatasync",
    "O_DIRECT", "ioping",
]  # fmt: skip
NEVER_SYNCED: tuple[Operation, ...] = ("O_DIRECT", "ioping")
MIN_PUBLISHED = 8
"""Describe a class of medium by its published rates of durable writes only if there are at least this many."""
_OPERATIONS_BY_SETTINGS: dict[tuple[tuple[str, ...], str], Operation] = {
    ((), "fdatasync"): "fdatasync",
    ((), "fsync"): "fsync",
    (("dsync",), "none"): "O_DSYNC",
    (("direct",), "fdatasync"): "O_DIRECT+fdatasync",
    (("direct",), "fsync"): "O_DIRECT+fsync",
    (("direct", "dsync"), "none"): "O_DIRECT+O_DSYNC",
    (("direct",), "none"): "O_DIRECT",
}
_MEDIA_NAMES = {"ssd": "SSDs", "ssd-plp": "SSDs with power-loss protection", "optane": "Optane drives"}
_ROTATING: frozenset[MediumClass] = frozenset({"hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000"})


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One measurement: published, or made by the user."""

    device: str
    medium: MediumClass
    link: str | None = None
    setup: str | None = None
    operation: Operation
    block_bytes: int | None = None
    per_s: float
    latency_us: float | None = None
    """The published latency from which ``per_s`` was computed."""
    source: str
    note: str | None = None


class PublishedClass(NamedTuple):
    """The published rates of durable writes for a class of medium."""

    name: str
    """``53 published rates for SSDs``"""
    slowest_per_s: float
    slowest_operation: Operation


class Placement(NamedTuple):
    """The measured rate of one operation, and the references with which it is compared."""

    operation: Operation
    per_s: float
    block_bytes: int
    media: frozenset[MediumClass]
    """The classes of the published references; empty if the medium is not known, which means all classes."""
    published: tuple[Reference, ...]
    """The published references, slowest first."""
    own: tuple[Reference, ...] = ()
    """The user's own references, slowest first."""

    @property
    def slower_count(self) -> int:
        return sum(reference.per_s < self.per_s for reference in self.published)


@cache
def library() -> tuple[Reference, ...]:
    rows = shipped.packaged_table(__package__, "references.toml", dict[str, list[dict[str, Any]]])["reference"]
    rates = [
        {**row, "operation": name, "per_s": per_s, "latency_us": row.get("latency_us", {}).get(name)}
        for row in rows
        for name, per_s in row["per_s"].items()
    ]
    return tuple(sorted(msgspec.convert(rates, tuple[Reference, ...]), key=lambda row: row.per_s))


def find_published(operation: Operation | None, media: Iterable[MediumClass] = ()) -> tuple[Reference, ...]:
    """Return published references, slowest first. ``operation``: None for all. ``media``: empty for all."""
    classes = set(media)
    return tuple(
        reference
        for reference in library()
        if operation in {None, reference.operation} and (not classes or reference.medium in classes)
    )


def published_class(media: frozenset[MediumClass]) -> PublishedClass | None:
    """Return the published class of these media. None if a medium is unknown, or if there are too few references."""
    classes = comparable_media(media)
    references = [reference for reference in _durable_references() if reference.medium in classes]
    if len(references) < MIN_PUBLISHED:
        return None
    names = ", ".join(filter(None, [media_names(classes - _ROTATING), "rotating disks" * bool(classes & _ROTATING)]))
    slowest = min(references, key=lambda reference: reference.per_s)
    return PublishedClass(f"{len(references)} published rates for {names}", slowest.per_s, slowest.operation)


@cache
def typical_rates() -> tuple[tuple[str, float], ...]:
    """Return the median published rate of durable writes for the common kinds of disks, slowest first."""
    kinds = (
        ("rotating disks", _ROTATING),
        ("SSDs without power-loss protection", {"ssd"}),
        ("SSDs with power-loss protection", {"ssd-plp"}),
    )
    durable = _durable_references()
    return tuple((name, median(row.per_s for row in durable if row.medium in media)) for name, media in kinds)


def _durable_references() -> tuple[Reference, ...]:
    return tuple(reference for reference in library() if reference.operation not in NEVER_SYNCED)


def media_names(media: Iterable[str]) -> str:
    """Return the classes of media in words: ``Optane drives, SSDs``."""
    return ", ".join(sorted(_MEDIA_NAMES.get(medium, medium) for medium in media))


def comparable_media(media: frozenset[MediumClass]) -> frozenset[MediumClass]:
    """Return the classes that can be compared with these; none if one is unknown. Any rotating disks are comparable."""
    if not media or "unknown" in media:
        return frozenset()
    return media | _ROTATING if media & _ROTATING else media


def operation_of(settings: SyncWrites) -> Operation | None:
    """Return the name that the library uses for an operation with these settings; None if it has no such operation."""
    if settings.sync_every != 1 or settings.ops_per_s:
        return None
    if settings.prefill != "written":
        appends = settings.offsets in {"append", "sequential"}
        return "append+fdatasync" if appends and (settings.open_flags, settings.sync) == ((), "fdatasync") else None
    if settings.offsets in {"append", "sequential"}:
        return None
    return _OPERATIONS_BY_SETTINGS.get((settings.open_flags, settings.sync))


def rates(case: Case) -> dict[Operation, tuple[int, float]]:
    """Return block size and rate per second of each operation, from the first step with enough operations."""
    by_operation: dict[Operation, tuple[int, float]] = {}
    for step, settings in case.steps.measured:
        operation = operation_of(settings)
        if operation and has_rate(step) and step.ops >= MIN_SYNCS and step.rate_per_s > 0:
            by_operation.setdefault(operation, (settings.block_bytes, step.rate_per_s))
    return by_operation


def find_placements(run: Run) -> tuple[Placement, ...]:
    """Return a placement for each measured operation that has references. Operations with more references of the user
    come first, then those with more published references. Unsynced O_DIRECT comes last.

    Return nothing if fstui limited the rate, or if the syncs may not be durable and so may be faster than any disk.
    """
    case = Case(run)
    if run.target is None or run.rate_limit or case.configuration.stub_signs or run.verdict in NOT_TRUSTED:
        return ()
    media = comparable_media(case.commit_media)
    all_placements = (
        Placement(operation, per_s, block_bytes, media, find_published(operation, media), find_own(case, operation))
        for operation, (block_bytes, per_s) in rates(case).items()
    )
    matches = [placement for placement in all_placements if placement.own or placement.published]
    matches.sort(key=lambda placement: (-len(placement.own), -len(placement.published)))
    return tuple(sorted(matches, key=lambda placement: placement.operation == "O_DIRECT"))


def find_own(case: Case, operation: Operation) -> tuple[Reference, ...]:
    references = (
        Reference(
            device=own.name,
            medium=own.media[0] if own.media else "unknown",
            operation=operation,
            block_bytes=own.block_bytes,
            per_s=own.per_s,
            source=f"your own, {counted(own.runs, 'run')}",
        )
        for own in case.evidence.own_references
        if own.operation == operation
    )
    return tuple(sorted(references, key=lambda reference: reference.per_s))


def find_applicable(references: Sequence[OwnReference], case: Case) -> tuple[OwnReference, ...]:
    """Return the references for the same media as those of the case. If a medium is unknown, the models must match."""
    media, models = _media(case), _models(case)
    same_media = (reference for reference in references if reference.media == media)
    if comparable_media(case.commit_media):
        return tuple(same_media)
    return tuple(reference for reference in same_media if models and reference.models == models)


def make_references(name: str, runs: Sequence[Run]) -> tuple[OwnReference, ...]:
    """Create one reference per operation, block size, medium and model. Raises Refused for an unsuitable run."""
    rates_by_key: dict[tuple[Operation, int, tuple[MediumClass, ...], tuple[str, ...]], list[float]] = defaultdict(list)
    for run in runs:
        if reason := why_unsuitable(run):
            raise Refused(f"run {run.id} cannot be a reference: {reason}")
        case = Case(run)
        for operation, (block_bytes, per_s) in rates(case).items():
            rates_by_key[operation, block_bytes, _media(case), _models(case)].append(per_s)
    return tuple(
        OwnReference(
            name=name, operation=operation, block_bytes=block_bytes, media=media, models=models,
            runs=len(per_s), slowest_per_s=min(per_s), per_s=median(per_s),
        )
        for (operation, block_bytes, media, models), per_s in rates_by_key.items()
    )  # fmt: skip


def why_unsuitable(run: Run) -> str:
    """Return why a run cannot be a reference for its storage; empty if it can."""
    case = Case(run)
    reasons = {
        "it was simulated, not measured": run.simulated,
        "fstui limited its rate": run.rate_limit,
        "an I/O limit was in force, so its rate is that limit": run.process.io_limits,
        f"it was {run.status}": run.status != "finished",
        f"its verdict is {run.verdict}": run.verdict in NOT_TRUSTED,
        "it has no rate of a synced write": not rates(case),
        "its class of medium and its model are not known, so nothing matches it; measure it with --medium": not (
            comparable_media(case.commit_media) or _models(case)
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _media(case: Case) -> tuple[MediumClass, ...]:
    return tuple(sorted(case.commit_media))


def _models(case: Case) -> tuple[str, ...]:
    return tuple(sorted({node.model for node in case.stack.commit_devices if node.model}))
