"""Rates to compare a run with: published ones (``references.toml``), and those that the user measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from statistics import median
from typing import Literal, NamedTuple

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
"""Minimum number of published rates of durable writes that describe a class of medium."""
_BY_SETTINGS: dict[tuple[tuple[str, ...], str], Operation] = {
    ((), "fdatasync"): "fdatasync",
    ((), "fsync"): "fsync",
    (("dsync",), "none"): "O_DSYNC",
    (("direct",), "fdatasync"): "O_DIRECT+fdatasync",
    (("direct",), "fsync"): "O_DIRECT+fsync",
    (("direct", "dsync"), "none"): "O_DIRECT+O_DSYNC",
    (("direct",), "none"): "O_DIRECT",
}
_NAMES = {"ssd": "SSDs", "ssd-plp": "SSDs with power-loss protection", "optane": "Optane drives"}
_ROTATING: frozenset[MediumClass] = frozenset({"hdd-5400", "hdd-7200", "hdd-10000", "hdd-15000"})


class Reference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One measurement, published or of the user's own."""

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


class PublishedClass(NamedTuple):
    """All durable writes that were published for a class of medium."""

    name: str
    """``53 published rates for SSDs``"""
    slowest_per_s: float
    slowest_operation: Operation


class Placement(NamedTuple):
    operation: Operation
    per_s: float
    block_bytes: int
    media: frozenset[MediumClass]
    """The classes of the published references. Empty for all classes, if the medium is not known."""
    published: tuple[Reference, ...]
    """The published references, slowest first."""
    own: tuple[Reference, ...] = ()
    """The user's own references, slowest first."""

    @property
    def slower(self) -> int:
        return sum(reference.per_s < self.per_s for reference in self.published)


class _Kind(NamedTuple):
    """The properties that runs must share to form one reference."""

    operation: Operation
    block_bytes: int
    media: tuple[MediumClass, ...]
    models: tuple[str, ...]


@cache
def library() -> tuple[Reference, ...]:
    rows = shipped.table(__package__, "references.toml", dict[str, tuple[Reference, ...]])["reference"]
    return tuple(sorted(rows, key=lambda row: row.per_s))


def published(operation: Operation | None, media: Iterable[MediumClass] = ()) -> tuple[Reference, ...]:
    """Return published references, slowest first: of all operations if it is None, on all media if there are none."""
    wanted = set(media)
    return tuple(
        reference
        for reference in library()
        if operation in {None, reference.operation} and (not wanted or reference.medium in wanted)
    )


def class_of(media: frozenset[MediumClass]) -> PublishedClass | None:
    """Return the published class of these media, or None if one of them is unknown or has few references."""
    compared = comparable(media)
    found = [one for one in _durable() if one.medium in compared]
    if len(found) < MIN_PUBLISHED:
        return None
    names = named(media) if compared == media else "rotating disks"
    slowest = min(found, key=lambda one: one.per_s)
    return PublishedClass(f"{len(found)} published rates for {names}", slowest.per_s, slowest.operation)


@cache
def typical() -> tuple[tuple[str, float], ...]:
    """Return the median published rate of durable writes for the common kinds of disks, slowest first."""
    kinds = (
        ("rotating disks", _ROTATING),
        ("SSDs without power-loss protection", {"ssd"}),
        ("SSDs with power-loss protection", {"ssd-plp"}),
    )
    return tuple((words, median(one.per_s for one in _durable() if one.medium in media)) for words, media in kinds)


def _durable() -> tuple[Reference, ...]:
    return tuple(one for one in library() if one.operation not in NEVER_SYNCED)


def named(media: Iterable[str]) -> str:
    """Return the classes of media in words: ``Optane drives, SSDs``."""
    return ", ".join(sorted(_NAMES.get(one, one) for one in media))


def comparable(media: frozenset[MediumClass]) -> frozenset[MediumClass]:
    """Return the classes to compare these with: rotating disks of any speed, and nothing if one is unknown."""
    if not media or "unknown" in media:
        return frozenset()
    return media | _ROTATING if media & _ROTATING else media


def operation_of(settings: SyncWrites) -> Operation | None:
    """Return the library's name of the operation of these settings; None if none was published."""
    if settings.sync_every != 1 or settings.ops_per_s:
        return None
    if settings.prefill != "written":
        fills = settings.offsets in {"append", "sequential"}
        return "append+fdatasync" if fills and (settings.open_flags, settings.sync) == ((), "fdatasync") else None
    if settings.offsets in {"append", "sequential"}:
        return None
    return _BY_SETTINGS.get((settings.open_flags, settings.sync))


def rates(case: Case) -> dict[Operation, tuple[int, float]]:
    """Return block size and rate per second of the first step of each operation that has enough syncs."""
    found: dict[Operation, tuple[int, float]] = {}
    for step, settings in case.steps.measured:
        operation = operation_of(settings)
        if operation and has_rate(step) and step.ops >= MIN_SYNCS and step.rate_per_s > 0:
            found.setdefault(operation, (settings.block_bytes, step.rate_per_s))
    return found


def placed(run: Run) -> tuple[Placement, ...]:
    """Place the run's rates among the references: those with the most references first, O_DIRECT alone last.

    Return nothing if fstui limited the rate, or if the syncs may not be durable: then they may be faster than any disk.
    """
    case = Case(run)
    if run.target is None or run.rate_limit or case.configuration.stub_signs or run.verdict in NOT_TRUSTED:
        return ()
    media = comparable(case.commit_media)
    found = (
        Placement(operation, per_s, block_bytes, media, published(operation, media), own_references(case, operation))
        for operation, (block_bytes, per_s) in rates(case).items()
    )
    shown = (one for one in found if one.own or one.published)
    return tuple(sorted(shown, key=lambda one: (one.operation == "O_DIRECT", -len(one.own), -len(one.published))))


def own_references(case: Case, operation: Operation) -> tuple[Reference, ...]:
    found = (
        Reference(
            device=own.name,
            medium=own.media[0] if own.media else "unknown",
            operation=operation,
            block_bytes=own.block_bytes,
            per_s=own.per_s,
            source=f"your own, {counted(own.runs, 'run')}",
        )
        for own in case.evidence.own
        if own.operation == operation
    )
    return tuple(sorted(found, key=lambda one: one.per_s))


def applicable(every: Sequence[OwnReference], case: Case) -> tuple[OwnReference, ...]:
    """Return the references for the same classes of medium, or for the same models if the classes are unknown."""
    media, models = _media(case), _models(case)
    known = bool(comparable(case.commit_media))
    return tuple(one for one in every if one.media == media and (known or (models and one.models == models)))


def of_runs(name: str, runs: Sequence[Run]) -> tuple[OwnReference, ...]:
    """Make one reference per operation, block size and kind of storage. Raises Refused for an unsuitable run."""
    found: dict[_Kind, list[float]] = defaultdict(list)
    for run in runs:
        if reason := why_unsuitable(run):
            raise Refused(f"run {run.id} cannot be a reference: {reason}")
        case = Case(run)
        for operation, (block_bytes, per_s) in rates(case).items():
            found[_Kind(operation, block_bytes, _media(case), _models(case))].append(per_s)
    return tuple(
        OwnReference(name=name, **kind._asdict(), runs=len(each), slowest_per_s=min(each), per_s=median(each))
        for kind, each in found.items()
    )


def why_unsuitable(run: Run) -> str:
    """Return why a run cannot be a reference for its storage; empty if it can."""
    case = Case(run)
    reasons = {
        "it was simulated, not measured": run.simulated,
        "fstui limited its rate": run.rate_limit,
        "an io limit applied, so it shows the limit": run.process.io_limits,
        f"it was {run.status}": run.status != "finished",
        f"its verdict is {run.verdict}": run.verdict in NOT_TRUSTED,
        "it has no rate of a synced write": not rates(case),
        "its class of medium and its model are not known, so nothing matches it; measure it with --medium": not (
            comparable(case.commit_media) or _models(case)
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _media(case: Case) -> tuple[MediumClass, ...]:
    return tuple(sorted(case.commit_media))


def _models(case: Case) -> tuple[str, ...]:
    return tuple(sorted({node.model for node in case.stack.commit_devices if node.model}))
