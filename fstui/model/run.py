"""The evidence of a run, and the document that is saved and printed."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from fstui.model.base import Amount, Base, Count
from fstui.model.counters import Idle
from fstui.model.host import Host, Process
from fstui.model.judgement import Confidence, Finding, Fit, Judgement, Speed, Verdict
from fstui.model.quantities import seconds
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.steps import Step
from fstui.model.storage import MediumClass, Target

SCHEMA = "fstui.run/2"

RunStatus = Literal["finished", "stopped", "failed", "running"]
"""While a run is running, its saved document has the status "stopped", which is right if the run is killed."""


class ScenarioRef(Base, frozen=True, kw_only=True):
    name: str
    title: str
    settings: dict[str, Any] = {}


class Round(Base, frozen=True, kw_only=True):
    """The place of a run in a series of interleaved runs (``fstui run --rounds``). Each side runs once per round."""

    series: str
    """The same for all runs of the series."""
    side: Count
    """The place of the side's directory on the command line, from 0."""
    number: Count
    """From 1."""
    of: Count
    """The number of rounds."""


class EarlierRun(Base, frozen=True, kw_only=True):
    """An earlier run of the same scenario with the same settings, on the same storage of the same host."""

    run: str
    started_at: str
    mean_ns: dict[str, int]
    """The mean duration of one operation, by the name of the step."""


class OwnReference(Base, frozen=True, kw_only=True):
    """A reference that the user made from runs of one operation on storage of one kind."""

    name: str
    """Given by the user: ``our db hosts``."""
    operation: str
    """One of the operations of the published references."""
    block_bytes: Count
    media: tuple[MediumClass, ...]
    """The kinds of the devices that the commits waited for."""
    models: tuple[str, ...] = ()
    runs: Count = 1
    slowest_per_s: Amount
    per_s: Amount
    """The median."""


class Baselines(NamedTuple):
    """What is saved on this host to compare a run with."""

    earlier_runs: tuple[EarlierRun, ...] = ()
    own_references: tuple[OwnReference, ...] = ()


class Evidence(Base, frozen=True, kw_only=True):
    """Everything that was measured and read, without conclusions, so that a saved run can be judged again."""

    host: Host = Host()
    process: Process = Process()
    cgroup_process: Process | None = msgspec.field(default=None, name="like")
    """The process in whose I/O cgroup the probes ran (``--like PID``)."""
    target: Target | None = None
    scenario: ScenarioRef | None = None
    rate_limit: RateLimit = msgspec.field(default=UNLIMITED, name="restraint")
    idle: Idle | None = None
    steps: tuple[Step, ...] = ()
    untraced: str | None = None
    """Why the kernel's trace was not available; None if it was, or if it was not requested."""
    earlier_runs: tuple[EarlierRun, ...] = msgspec.field(default=(), name="before")
    """Newest first. Used for the answer about speed only, never for the verdict."""
    own_references: tuple[OwnReference, ...] = msgspec.field(default=(), name="own")
    """The user's references for such storage. Also used for speed only."""

    @property
    def scenario_name(self) -> str:
        return self.scenario.name if self.scenario else ""

    @property
    def target_path(self) -> str:
        return self.target.path if self.target else ""

    def has_changed(self, layer: str, setting: str) -> bool:
        return any(step.has_changed(layer, setting) for step in self.steps)


class Run(Evidence, frozen=True, kw_only=True):
    """Evidence, findings and verdict: the document that is saved and printed."""

    schema: str = SCHEMA
    id: str
    started_at: str
    """ISO 8601 with the offset from UTC."""
    elapsed_s: float = 0.0
    version: str = ""
    status: RunStatus = "finished"
    time_limit_s: float | None = None
    """The time limit that ended the run; None if no limit did."""
    simulated: str | None = None
    round: Round | None = None
    written_bytes: int = 0
    """Written by fstui's own probes, including their files. A server's writes are only in ``wear_bytes``."""
    wear_bytes: dict[str, Count] = {}
    """Bytes that the kernel counted at each lowest device during the whole run, by all processes. Devices without
    counters are missing."""
    left_behind: tuple[str, ...] = ()
    """What the run could not remove, as sentences."""
    findings: tuple[Finding, ...] = ()
    verdict: Verdict = "cannot-tell"
    confidence: Confidence = "low"
    sentence: str = ""
    speed: Speed = Speed()
    fit: tuple[Fit, ...] = ()
    """For each product whose operation was measured."""
    digest: str = ""
    """The digest of all other fields (``fstui.model.documents``); empty in old documents."""

    @property
    def status_text(self) -> str:
        """``stopped at its time limit of 20.0 s``; empty for a finished run."""
        if self.status == "stopped" and self.time_limit_s is not None:
            return f"stopped at its time limit of {seconds(self.time_limit_s)}"
        return "" if self.status == "finished" else self.status

    def with_judgement(self, judgement: Judgement) -> Run:
        return msgspec.structs.replace(self, **msgspec.structs.asdict(judgement))
