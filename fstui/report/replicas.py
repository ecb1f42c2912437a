"""Which acknowledged transactions survived a cut of the primary: one table per kind of server, one row per step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.model.judgement import Verdict
from fstui.model.quantities import count, counted
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.sections import Section
from fstui.report.text import GLYPHS, NONE

_HEADER = ("", "acked", "lost: primary", "replica", "both", "diverged", "GTID primary", "GTID replica")
_LEGEND = (
    "cut: a power cut of the primary, or of both servers; relay: sync_relay_log",
    "acked: transactions acknowledged to the clients, which are the witnesses",
    "lost: acknowledged transactions that are missing after recovery. A replica that was not cut first applied "
    "everything it had received. One that was cut applied nothing more, not even its relay log.",
    "diverged: transactions that the replica has and its primary lost",
)
_FIGURES = (
    "acknowledged", "on_primary", "on_replica", "lost_on_primary", "lost_on_replica", "lost_everywhere",
    "on_replica_alone", "gtid_primary", "gtid_replica",
)  # fmt: skip
_SERVER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Headline(NamedTuple):
    """The main answer of such a run: what survived. The verdict is only about the filesystem below the servers."""

    words: str
    sentence: str
    style: Verdict


class ReplicaStep(NamedTuple):
    settings: ReplicaCut
    figures: ReplicaCutFigures


def headline(run: Run) -> Headline | None:
    """Return what survived, or None if no pair of servers could be compared."""
    found = next((finding for finding in run.findings if finding.rule == "replica-cut"), None)
    if found is None:
        return None
    figures = [each.figures for each in measured(run)]
    style: Verdict = "consistent"
    if found.verdict or any(each.lost_everywhere for each in figures):
        style = "lost"
    elif any(each.lost_on_primary for each in figures):
        style = "suspicious"
    return Headline(f"{GLYPHS[style]} {found.title}", found.sentence, style)


def tables(run: Run) -> list[Section]:
    found: dict[str, list[ReplicaStep]] = {}
    for each in measured(run):
        found.setdefault(f"{each.figures.title} · {counted(each.settings.clients, 'client')}", []).append(each)
    return [Section(title, _HEADER, tuple(map(_row, each)), _LEGEND, labelled=True) for title, each in found.items()]


def measured(run: Run) -> list[ReplicaStep]:
    return [
        ReplicaStep(step.settings, step.figures)
        for step in run.steps
        if isinstance(step.settings, ReplicaCut)
        and isinstance(step.figures, ReplicaCutFigures)
        and step.figures.both_answered
    ]


def csv_cells(step: Step) -> Iterator[tuple[str, str | int | None]]:
    settings = step.settings if isinstance(step.settings, ReplicaCut) else None
    figures = step.figures if isinstance(step.figures, ReplicaCutFigures) and step.figures.both_answered else None
    for name in ("replication", "durability", "of_replica", "sync_relay_log", "cut"):
        yield name, getattr(settings, name, None)
    for name in _FIGURES:
        yield name, getattr(figures, name, None)


def _row(each: ReplicaStep) -> tuple[str, ...]:
    found = each.figures
    numbers = (
        found.acknowledged, found.lost_on_primary, found.lost_on_replica, found.lost_everywhere, found.on_replica_alone,
    )  # fmt: skip
    return _name(each.settings), *map(count, numbers), _short(found.gtid_primary), _short(found.gtid_replica)


def _name(settings: ReplicaCut) -> str:
    """Return ``semi-sync high, cut``; with other settings ``semi-sync high/low, relay 1, cut of both``."""
    durability: str = settings.durability
    if settings.of_replica != settings.durability:
        durability += f"/{settings.of_replica}"
    mode = "async" if settings.replication == "asynchronous" else "semi-sync"
    relay = "" if settings.sync_relay_log == 10_000 else f", relay {settings.sync_relay_log}"
    return f"{mode} {durability}{relay}, {settings.cut.removeprefix('power ')}"


def _short(gtid: str) -> str:
    """Return a GTID without the identifier of the server, which is the same in all rows."""
    return _SERVER.sub("…", gtid) or NONE
