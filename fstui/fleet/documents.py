"""The documents that ``fstui fleet`` prints as JSON."""

from __future__ import annotations

import msgspec

from fstui.fleet.outliers import OddHost, Spread
from fstui.fleet.results import About, HostResult
from fstui.model.base import Base
from fstui.model.judgement import Verdict
from fstui.report.comparison import Ratio
from fstui.report.documents import JsonDocument


class HostGroup(Base, frozen=True, kw_only=True):
    """Hosts with the same storage."""

    layers: str
    model: str
    cache: str
    kernel: str
    cloud: str
    hosts: tuple[str, ...]
    steps: tuple[Spread, ...]


class FleetDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.fleet-report/1"):
    about: About
    hosts: tuple[HostResult, ...]
    worse: tuple[OddHost, ...]
    """Hosts with a verdict worse than that of their peers."""
    outliers: tuple[OddHost, ...]
    """Hosts that are slower or faster than their peers."""
    groups: tuple[HostGroup, ...]


class ChangedHost(Base, frozen=True, kw_only=True):
    """One target of one host, before and after."""

    host: str
    target: str
    before: Verdict | None
    after: Verdict | None
    ratio: Ratio | None
    """Rate after / rate before: the median over the steps that both have, and an interval that contains the interval of
    each step, which is taken over all pairs of its parts."""
    settings: tuple[str, ...]
    changed: bool
    worse: bool


class FleetComparisonDocument(JsonDocument, frozen=True, kw_only=True, tag="fstui.fleet-comparison/1"):
    targets: tuple[ChangedHost, ...]


DOCUMENTS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "fleet": (FleetDocument, "The results of all hosts: fstui fleet run, check, watch, list and show"),
    "fleet-comparison": (FleetComparisonDocument, "Two results of a fleet, host by host: fstui fleet compare"),
}
