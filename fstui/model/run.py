"""The evidence of a run, and the document that is saved and printed."""

from __future__ import annotations

from typing import Any, Literal

from fstui.model.base import Base
from fstui.model.counters import Idle
from fstui.model.host import Host, Process
from fstui.model.judgement import Confidence, Finding, Speed, Verdict
from fstui.model.steps import Step
from fstui.model.storage import Target

SCHEMA = "fstui.run/2"

RunStatus = Literal["finished", "stopped", "failed"]


class ScenarioRef(Base, frozen=True, kw_only=True):
    """The scenario as it was run."""

    name: str
    title: str
    settings: dict[str, Any] = {}


class Earlier(Base, frozen=True, kw_only=True):
    """A run before this one: the same scenario with the same settings, on the same storage of the same box."""

    run: str
    started_at: str
    mean_ns: dict[str, int]
    """Of one operation, by the step's name."""


class Evidence(Base, frozen=True, kw_only=True):
    """All that was seen, no opinion. A Run is evidence too, so a saved run can be judged again."""

    host: Host = Host()
    process: Process = Process()
    like: Process | None = None
    """The process in whose io cgroup the probes ran (``--like PID``), as it was then."""
    target: Target | None = None
    scenario: ScenarioRef | None = None
    idle: Idle | None = None
    steps: tuple[Step, ...] = ()
    untraced: str | None = None
    """Why the kernel's trace was not to be had, in a sentence; None where it was, or where nobody asked for it."""
    before: tuple[Earlier, ...] = ()
    """Newest first. What is slow is held against it, and never what is honest."""


class Run(Evidence, frozen=True, kw_only=True):
    """Evidence, findings and verdict: the document that is saved and printed."""

    schema: str = SCHEMA
    id: str
    started_at: str
    """ISO 8601 with the offset from UTC."""
    elapsed_s: float = 0.0
    version: str = ""
    status: RunStatus = "finished"
    simulated: str | None = None
    written_bytes: int = 0
    left_behind: tuple[str, ...] = ()
    """Paths that could not be removed."""
    findings: tuple[Finding, ...] = ()
    verdict: Verdict = "cannot-tell"
    confidence: Confidence = "low"
    sentence: str = ""
    speed: Speed = Speed()
    digest: str = ""
    """Of all the rest (``fstui.model.seal``); empty where there was none when it was written."""
