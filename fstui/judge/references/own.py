"""References of one's own: made of runs, and those that a run may be held against."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.judge.facts.steps import MIN_SYNCS, has_rate
from fstui.judge.references.published import Operation, Reference, expand, operation_of
from fstui.model.errors import Refused
from fstui.model.judgement import NOT_TRUSTED
from fstui.model.quantities import counted
from fstui.model.run import OwnReference, Run
from fstui.model.storage import MediumClass


class _Kind(NamedTuple):
    """What runs must have in common to be taken together."""

    operation: Operation
    block_bytes: int
    media: tuple[MediumClass, ...]
    models: tuple[str, ...]


def of_runs(name: str, runs: Sequence[Run]) -> tuple[OwnReference, ...]:
    """One for each operation, size of a block and kind of storage. Raises Refused for a run that is no measure."""
    found: dict[_Kind, list[float]] = defaultdict(list)
    for run in runs:
        if reason := unfit(run):
            raise Refused(f"run {run.id} is no reference: {reason}")
        case = Case(run)
        for operation, (block_bytes, per_s) in rates(case).items():
            found[_Kind(operation, block_bytes, _media(case), _models(case))].append(per_s)
    return tuple(
        OwnReference(name=name, **kind._asdict(), runs=len(each), slowest_per_s=min(each), per_s=median(each))
        for kind, each in found.items()
    )


def unfit(run: Run) -> str:
    """Why it is no measure of its storage; empty where it is one."""
    return _told_otherwise(run) or ("" if rates(Case(run)) else "it has no rate of a synced write") or _unplaced(run)


def applying(every: Sequence[OwnReference], case: Case) -> tuple[OwnReference, ...]:
    """Those of the same classes of medium; where these are not known, of the same models."""
    media, models = _media(case), _models(case)
    known = bool(expand(case.commit_media))
    return tuple(one for one in every if one.media == media and (known or (models and one.models == models)))


def beside(case: Case, operation: Operation) -> tuple[Reference, ...]:
    """The user's own ones of an operation, in the words of the published, slowest first."""
    found = (_as_published(one, operation) for one in case.evidence.own if one.operation == operation)
    return tuple(sorted(found, key=lambda one: one.per_s))


def rates(case: Case) -> dict[Operation, tuple[int, float]]:
    """Block in bytes, and rate a second, of the first step of each operation that has enough of them."""
    found: dict[Operation, tuple[int, float]] = {}
    for step, settings in case.steps.measured:
        operation = operation_of(settings)
        if operation and has_rate(step) and step.ops >= MIN_SYNCS and step.rate_per_s > 0:
            found.setdefault(operation, (settings.block_bytes, step.rate_per_s))
    return found


def _as_published(own: OwnReference, operation: Operation) -> Reference:
    return Reference(
        device=own.name,
        medium=own.media[0] if own.media else "unknown",
        operation=operation,
        block_bytes=own.block_bytes,
        per_s=own.per_s,
        source=f"your own, {counted(own.runs, 'run')}",
    )


def _told_otherwise(run: Run) -> str:
    if run.simulated:
        return "it was played, not measured"
    if run.rate_limit:
        return "fstui held itself back"
    if run.process.io_limits:
        return "it met an io limit, and tells what the limit is"
    if run.status != "finished":
        return f"it was {run.status}"
    return f"it is {run.verdict}" if run.verdict in NOT_TRUSTED else ""


def _unplaced(run: Run) -> str:
    case = Case(run)
    if expand(case.commit_media) or _models(case):
        return ""
    return "its class of medium is not known and it tells no model, so nothing is like it; measure it with --medium"


def _media(case: Case) -> tuple[MediumClass, ...]:
    return tuple(sorted(case.commit_media))


def _models(case: Case) -> tuple[str, ...]:
    return tuple(sorted({node.model for node in case.commit_devices if node.model}))
