"""The evidence of a run, and the document that is saved and printed."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

from fstui.model.base import Base, Count
from fstui.model.counters import Idle
from fstui.model.host import Host, Process
from fstui.model.judgement import Confidence, Finding, Judgement, Speed, Verdict
from fstui.model.own_references import OwnReference
from fstui.model.restraint import FREE, Restraint
from fstui.model.steps import Step
from fstui.model.storage import Target

SCHEMA = "fstui.run/2"

RunStatus = Literal["finished", "stopped", "failed"]


class ScenarioRef(Base, frozen=True, kw_only=True):
    """The scenario as it was run."""

    name: str
    title: str
    settings: dict[str, Any] = {}


class Round(Base, frozen=True, kw_only=True):
    """Which of several interleaved runs it is: round by round each side ran once (``fstui run --rounds``)."""

    series: str
    """The same of all of them."""
    side: Count
    """From 0: the directories in the order in which they were named."""
    number: Count
    """From 1."""
    of: Count


class Earlier(Base, frozen=True, kw_only=True):
    """A run before this one: the same scenario with the same settings, on the same storage of the same box."""

    run: str
    started_at: str
    mean_ns: dict[str, int]
    """Of one operation, by the step's name."""


class HeldAgainst(NamedTuple):
    """What is kept in the home that a run is held against."""

    before: tuple[Earlier, ...] = ()
    own: tuple[OwnReference, ...] = ()


class Evidence(Base, frozen=True, kw_only=True):
    """All that was seen, no opinion. A Run is evidence too, so a saved run can be judged again."""

    host: Host = Host()
    process: Process = Process()
    like: Process | None = None
    """The process in whose io cgroup the probes ran (``--like PID``), as it was then."""
    target: Target | None = None
    scenario: ScenarioRef | None = None
    restraint: Restraint = FREE
    idle: Idle | None = None
    steps: tuple[Step, ...] = ()
    untraced: str | None = None
    """Why the kernel's trace was not to be had, in a sentence; None where it was, or where nobody asked for it."""
    before: tuple[Earlier, ...] = ()
    """Newest first. What is slow is held against it, and never what is honest."""
    own: tuple[OwnReference, ...] = ()
    """References of the user's own for such storage; they are used like ``before``."""

    def changed(self, layer: str, setting: str) -> bool:
        """Return whether that setting of a layer changed during the run."""
        return any(step.changes(layer, setting) for step in self.steps)


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
    round: Round | None = None
    """None of a run that was run by itself."""
    written_bytes: int = 0
    """By fstui's own probes, their files included. What a server wrote of its own accord is in ``wear_bytes`` alone."""
    wear_bytes: dict[str, Count] = {}
    """What each lowest device was written to from the run's first byte until all was removed, by the kernel's count:
    whoever wrote it. A device that does not count is left out."""
    left_behind: tuple[str, ...] = ()
    """Paths that could not be removed."""
    findings: tuple[Finding, ...] = ()
    verdict: Verdict = "cannot-tell"
    confidence: Confidence = "low"
    sentence: str = ""
    speed: Speed = Speed()
    digest: str = ""
    """Of all the rest (``fstui.model.seal``); empty where there was none when it was written."""

    def judged(self, found: Judgement) -> Run:
        """The same evidence, and what the rules made of it."""
        return msgspec.structs.replace(self, **msgspec.structs.asdict(found))
