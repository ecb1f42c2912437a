"""Saved runs that one about to be measured is held against: the same question to the same storage."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from fstui.measure.kinds.documents import Version, decode_outline
from fstui.model.documents import is_altered
from fstui.model.errors import Refused
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import Baselines, Earlier, Run, RunStatus, ScenarioRef
from fstui.model.steps import STARVED_SHARE
from fstui.state import remembered, runs
from fstui.state.files import read_regular

MOST, LOOKED_THROUGH = 20, 200


def baselines(run: Run) -> Baselines:
    """The runs before it, and all references of one's own: one look at a home that may hang."""
    return Baselines(earlier(run), remembered.own_references())


def earlier(run: Run) -> tuple[Earlier, ...]:
    """Newest first: the same scenario with the same settings, on the same storage of the same box, to its end.

    Those that met an io limit, or held themselves back, are left out: they tell what the limit is. ``LOOKED_THROUGH``:
    of the newest ones.
    """
    if run.target is None or not run.target.identity or run.like or run.simulated or run.rate_limit:
        return ()
    found = (_comparable(path, run) for path in runs.newest_first()[:LOOKED_THROUGH])
    return tuple(islice((one for one in found if one and one.mean_ns), MOST))


class _Where(msgspec.Struct, frozen=True):
    identity: str = ""
    mount_point: str = ""
    hostname: str = ""


class _Whole(msgspec.Struct, frozen=True):
    mean: int


class _Measured(msgspec.Struct, frozen=True):
    name: str
    status: str = "finished"
    latency_ns: _Whole | None = None
    elapsed_s: float = 0.0
    cpu_wait_ns: int | None = None

    @property
    def tells(self) -> bool:
        """It was measured to its end, and not for want of a CPU for so long."""
        return self.status == "finished" and (self.cpu_wait_ns or 0) <= STARVED_SHARE * self.elapsed_s * 1e9


class _Process(msgspec.Struct, frozen=True):
    io_limits: tuple[Any, ...] = ()


class _Before(Version, frozen=True, kw_only=True):
    """The few fields of a document that decide whether it is comparable; the rest is skipped unread."""

    id: str
    started_at: str
    status: RunStatus = "finished"
    simulated: str | None = None
    like: dict[str, Any] | None = None
    rate_limit: RateLimit = UNLIMITED
    process: _Process = _Process()
    target: _Where = _Where()
    host: _Where = _Where()
    scenario: ScenarioRef | None = None
    steps: tuple[_Measured, ...] = ()


def _comparable(path: Path, run: Run) -> Earlier | None:
    try:
        document, _ = read_regular(path)
        found = decode_outline(document, _Before)
    except (OSError, Refused):
        return None
    whole = (
        not is_altered(document)
        and found.status == "finished"
        and not (found.simulated or found.like or found.rate_limit or found.process.io_limits)
    )
    if not whole or _asked(found.scenario) != _asked(run.scenario) or _place(found) != _place(run):
        return None
    means = {step.name: step.latency_ns.mean for step in found.steps if step.latency_ns and step.tells}
    return Earlier(run=found.id, started_at=found.started_at, mean_ns=means)


def _asked(scenario: ScenarioRef | None) -> object:
    """As it stands in a document, where a tuple and a list are the same."""
    return scenario and (scenario.name, msgspec.json.encode(scenario.settings, order="sorted"))


def _place(found: _Before | Run) -> object:
    return found.target and (found.target.identity, found.target.mount_point, found.host.hostname)
