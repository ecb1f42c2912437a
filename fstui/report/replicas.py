"""Which acknowledged transactions survived a cut of the primary: one table per kind of server, one row per step."""

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
    "acked: transactions acknowledged to the clients, as the clients recorded them",
    "lost: acknowledged transactions that are missing after recovery. Before the comparison, a replica that was not "
    "cut applied everything that it had received. A replica that was cut did not even apply its relay log.",
    "diverged: transactions that the replica has and its primary lost",
)
_FIGURES = (
    "acknowledged", "on_primary", "on_replica", "lost_on_primary", "lost_on_replica", "lost_everywhere",
    "on_replica_alone", "gtid_primary", "gtid_replica",
)  # fmt: skip
_SERVER_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class ReplicaStep(NamedTuple):
    settings: ReplicaCut
    figures: ReplicaCutFigures


def headline(run: Run) -> Section | None:
    """Return what survived, or None if no pair of servers could be compared.

    This is the main answer of a replica test. Its verdict covers only the filesystem below the servers.
    """
    finding = next((finding for finding in run.findings if finding.rule == "replica-cut"), None)
    if finding is None:
        return None
    figures = [step.figures for step in replica_steps(run)]
    style: Verdict = "consistent"
    if finding.verdict or any(cut.lost_everywhere for cut in figures):
        style = "lost"
    elif any(cut.lost_on_primary for cut in figures):
        style = "suspicious"
    return Section(f"{GLYPHS[style]} {finding.title}", lines=(finding.sentence,), style=style)


def tables(run: Run) -> list[Section]:
    groups: dict[str, list[ReplicaStep]] = {}
    for step in replica_steps(run):
        groups.setdefault(f"{step.figures.title} · {counted(step.settings.clients, 'client')}", []).append(step)
    return [Section(title, _HEADER, tuple(map(_row, steps)), _LEGEND, labelled=True) for title, steps in groups.items()]


def replica_steps(run: Run) -> list[ReplicaStep]:
    return [
        ReplicaStep(step.settings, step.figures)
        for step in run.steps
        if isinstance(step.settings, ReplicaCut)
        and isinstance(step.figures, ReplicaCutFigures)
        and step.figures.both_recovered
    ]


def csv_cells(step: Step) -> Iterator[tuple[str, str | int | None]]:
    settings = step.settings if isinstance(step.settings, ReplicaCut) else None
    figures = step.figures if isinstance(step.figures, ReplicaCutFigures) and step.figures.both_recovered else None
    for name in ("replication", "durability", "effective_replica_durability", "sync_relay_log", "cut"):
        yield name, getattr(settings, name, None)
    for name in _FIGURES:
        yield name, getattr(figures, name, None)


def _row(step: ReplicaStep) -> tuple[str, ...]:
    cut = step.figures
    numbers = (
        cut.acknowledged, cut.lost_on_primary, cut.lost_on_replica, cut.lost_everywhere, cut.on_replica_alone,
    )  # fmt: skip
    return _row_name(step.settings), *map(count, numbers), _short_gtid(cut.gtid_primary), _short_gtid(cut.gtid_replica)


def _row_name(settings: ReplicaCut) -> str:
    """Return ``semi-sync high, cut``; with other settings ``semi-sync high/low, relay 1, cut of both``."""
    durability: str = settings.durability
    if settings.effective_replica_durability != settings.durability:
        durability += f"/{settings.effective_replica_durability}"
    mode = "async" if settings.replication == "asynchronous" else "semi-sync"
    relay = "" if settings.sync_relay_log == 10_000 else f", relay {settings.sync_relay_log}"
    return f"{mode} {durability}{relay}, {settings.cut.removeprefix('power ')}"


def _short_gtid(gtid: str) -> str:
    """Return a GTID without the identifier of the server, which is the same in all rows."""
    return _SERVER_ID.sub("…", gtid) or NONE
