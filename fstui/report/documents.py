"""The documents that commands print as JSON, and their schemas.

Each document names its schema and version in the field ``schema``. New fields do not change the version.
"""

from typing import Any

import msgspec

from fstui.judge.references import Reference
from fstui.measure.kinds.documents import CHECK_SCHEMA, schema_of
from fstui.measure.kinds.powercut import CutKind
from fstui.model.at_risk import AtRiskReport
from fstui.model.base import Base, Count, Share
from fstui.model.events import Event
from fstui.model.forms import Scalar
from fstui.model.guests import Guest
from fstui.model.host import Host, Process
from fstui.model.judgement import Answer, Confidence, Finding, Fit, Verdict
from fstui.model.plan import Plan
from fstui.model.recording import WhatHappened
from fstui.model.run import OwnReference, Run
from fstui.model.storage import Node, Target
from fstui.model.watch import WatchEvent, WatchReport
from fstui.powercut.campaign import CampaignCut
from fstui.state.runs import Summary

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class JsonDocument(Base, frozen=True, kw_only=True, tag_field="schema"):
    """The base of all documents that a command prints as JSON."""


class Unchecked(Base, frozen=True, kw_only=True):
    filesystem: str
    reason: str


class CheckDocument(JsonDocument, frozen=True, kw_only=True, tag=CHECK_SCHEMA):
    elapsed_s: float
    runs: tuple[Run, ...]
    failed: tuple[Unchecked, ...]
    """Filesystems whose check did not return a result."""
    left_out: tuple[Unchecked, ...]
    """Filesystems that were not written to, or that do not respond."""


class FitOfDirectory(Base, frozen=True, kw_only=True):
    directory: str
    run: str | None
    verdict: Verdict | None
    trouble: str = ""
    fit: tuple[Fit, ...] = ()


class FitDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.fit/1"):
    elapsed_s: float
    directories: tuple[FitOfDirectory, ...]
    left_out: tuple[Unchecked, ...]
    """Filesystems that were not written to, or that do not respond."""


class ListedFilesystem(Target, frozen=True, kw_only=True):
    findings: tuple[Finding, ...] = ()


class ListDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.list/1"):
    host: Host
    process: Process
    filesystems: tuple[ListedFilesystem, ...]
    """In the order of mountinfo, pseudo filesystems last."""
    unused: tuple[Node, ...]
    """Block devices without a mounted filesystem."""
    guests: tuple[Guest, ...] = ()


class ScenarioRow(Base, frozen=True, kw_only=True):
    name: str
    question: str
    seconds: float | None
    """None if the scenario lasts until it is stopped."""
    max_bytes: int


class ScenariosDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.scenarios/1"):
    scenarios: tuple[ScenarioRow, ...]


class ScenarioSetting(Base, frozen=True, kw_only=True):
    value: Scalar | list[Scalar]
    help: str


class ScenarioDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.scenario/1"):
    name: str
    title: str
    question: str
    help: str
    steps: tuple[str, ...]
    settings: dict[str, ScenarioSetting]
    command: str


class HistoryDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.history/1"):
    runs: tuple[Summary, ...]


class Series(Base, frozen=True, kw_only=True):
    """The runs of one scenario on one filesystem, oldest first."""

    target: str
    scenario: str
    step: str
    runs: tuple[Summary, ...]


class TrendDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.trend/1"):
    series: tuple[Series, ...]


class ComparedSide(Base, frozen=True, kw_only=True):
    """One run, or all rounds of one run. The verdict is the worst of the rounds."""

    letter: str
    runs: tuple[str, ...]
    scenario: str
    target: str
    stack: str
    hostname: str
    started_at: str
    simulated: str | None
    verdict: Verdict
    confidence: Confidence
    speed: Answer


class ComparisonRow(Base, frozen=True, kw_only=True):
    """A step of one side. The rate is the median of the rounds; latencies and flushes are those of the middle round."""

    step: str
    side: str
    rounds: int
    rate_per_s: float
    lowest_rate_per_s: float
    highest_rate_per_s: float
    p50_ns: int | None
    p99_ns: int | None
    flushes_per_sync: float | None
    times: float | None
    """The ratio to the first side that has the step; null if no other side has it."""
    times_low: float | None
    times_high: float | None
    faster_but_not_durable: bool


class ComparisonDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.comparison/1"):
    sides: tuple[ComparedSide, ...]
    steps: tuple[ComparisonRow, ...]


class ReferencesDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.references/1"):
    own: tuple[OwnReference, ...]
    published: tuple[Reference, ...]


class DiskRow(Base, frozen=True, kw_only=True):
    name: str
    title: str


class DisksDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.disks/1"):
    disks: tuple[DiskRow, ...]


class DiskDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.disk/1"):
    name: str
    title: str
    parameters: dict[str, str]
    truth: str | None = None
    """Whether the disk is durable; None unless the user requested it (--truth)."""


class LabStorage(Base, frozen=True, kw_only=True):
    name: str
    directory: str
    truth: str | None
    """None until the user reveals it (``fstui lab open NAME``)."""


class LabDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.lab/1"):
    storages: tuple[LabStorage, ...]


class EnvelopeDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.envelope/1"):
    name: str
    title: str
    truth: str
    verdict: Verdict
    rule: str
    seen: str
    """Where the fault can be seen without fstui."""


class CampaignTotals(Base, frozen=True, kw_only=True):
    """Cuts that happened, and the sums of their records."""

    cuts: Count
    intact: Count
    """Cuts without a loss. Their verdict is ``kept`` only if the power was cut."""
    lost: Count
    """Cuts with a loss."""
    not_mounted: Count
    """Cuts with a loss, because the filesystem did not mount."""
    no_cut: Count
    """Attempts that caused no cut and prove nothing. They are not included in ``cuts``."""
    acknowledged: Count
    checked: Count
    """Acknowledged records that had to exist, because no newer acknowledged record replaced them."""
    present: Count
    missing: Count
    stale: Count
    torn: Count
    misplaced: Count
    unreadable: Count
    in_flight: Count
    """Blocks that are damaged because they were being written when the power was cut. They do not count as lost."""


class Bound(Base, frozen=True, kw_only=True):
    """A confidence interval for the share of cuts that lose data."""

    method: str
    confidence: float
    low: Share
    high: Share


class CampaignDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.powercut-campaign/1"):
    host: Host
    target: Target | None
    name: str
    """The host as the user named it for ssh."""
    directory: str
    cut: CutKind
    """What the commands cut, according to the user."""
    cuts_wanted: Count
    wait_s: tuple[float, float]
    seed: int
    started_at: str
    version: str
    verdict: Verdict
    sentence: str
    stopped: str
    """Why the campaign ended before its last cut."""
    running: bool
    bound: Bound
    totals: CampaignTotals
    cuts: tuple[CampaignCut, ...]


DOCUMENTS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "run": (Run, "A run of a scenario, as it is saved and printed"),
    "check": (CheckDocument, "The result of fstui check"),
    "fit": (FitDocument, "The products that the storage is fast enough for: fstui fit"),
    "list": (ListDocument, "The filesystems of a host with their stacks and defects: fstui list"),
    "watch": (WatchReport, "The result of fstui watch"),
    "at-risk": (AtRiskReport, "What a power cut would lose: fstui watch --at-risk"),
    "what-happened": (WhatHappened, "The answer of fstui what-happened"),
    "plan": (Plan, "What a run will do: fstui run --plan"),
    "scenarios": (ScenariosDocument, "What can be run: fstui scenarios"),
    "scenario": (ScenarioDocument, "One scenario with its steps and settings: fstui scenarios NAME"),
    "history": (HistoryDocument, "The saved runs, newest first: fstui history"),
    "trend": (TrendDocument, "How rates changed from run to run: fstui history trend"),
    "comparison": (
        ComparisonDocument,
        "Runs side by side: fstui compare, and fstui run with several directories or rounds",
    ),
    "references": (ReferencesDocument, "The rates that runs are compared with: fstui references"),
    "disks": (DisksDocument, "The simulated disks: fstui lessons --disks"),
    "disk": (DiskDocument, "The parameters of a simulated disk: fstui lessons --disks DISK"),
    "powercut-campaign": (CampaignDocument, "A power-cut campaign with all its cuts: fstui powercut campaign"),
    "lab": (LabDocument, "The filesystems of the lab: fstui lab list"),
    "envelope": (EnvelopeDocument, "The answer for one filesystem of the lab: fstui lab open NAME"),
}
"""The type and the title of each document by the name that ``fstui schema`` accepts."""
EVENTS = "events"


def schema(kind: type[msgspec.Struct], title: str) -> dict[str, Any]:
    """Return the JSON Schema of a document. It is not published on the web, so its ``$id`` is a URN."""
    root, definitions = schema_of(kind)
    fields = definitions[kind.__name__]["properties"]
    name = fields["schema"].get("default") or fields["schema"]["enum"][0]
    fields["schema"] = {"const": name}
    return _schema(name, title, root, definitions)


def schema_of_events() -> dict[str, Any]:
    root, definitions = schema_of(*Event.__subclasses__(), *WatchEvent.__subclasses__())
    title = "An event of a run, a check or a watch: one line of --format events"
    return _schema("fstui.events/1", title, root, definitions)


def _schema(name: str, title: str, root: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    urn = f"urn:{name.replace('.', ':', 1)}"
    return {"$schema": _DIALECT, "$id": urn, "title": title, **root, "$defs": definitions}
