"""Where the acknowledged transactions are after a primary's end: one table per kind of server, a row for each end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.model.quantities import count, counted
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report.oltp import NONE, Table

HEADER = ("", "acked", "lost: primary", "replica", "both", "diverged", "GTID primary", "GTID replica")
LEGEND = (
    "acked: transactions that were acknowledged to the clients, who are the witness",
    "lost: of these, missing once the primary has recovered; a replica that was not cut has first applied what it had "
    "received",
    "diverged: transactions that the replica has and its primary has no more",
)
_FIGURES = (
    "acknowledged", "on_primary", "on_replica", "lost_on_primary", "lost_on_replica", "lost_everywhere",
    "on_replica_alone", "gtid_primary", "gtid_replica",
)  # fmt: skip
_SERVER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Measured(NamedTuple):
    """A step in which both servers were asked afterwards."""

    asked: ReplicaCut
    told: ReplicaCutFigures


def tables(run: Run) -> list[Table]:
    """Empty where no replica was measured."""
    found: dict[str, list[Measured]] = {}
    for each in measured(run):
        found.setdefault(f"{each.told.title} · {counted(each.asked.clients, 'client')}", []).append(each)
    return [Table(title, HEADER, tuple(map(_row, several)), LEGEND) for title, several in found.items()]


def measured(run: Run) -> list[Measured]:
    """The steps with figures that are whole."""
    return [
        Measured(step.settings, step.figures)
        for step in run.steps
        if isinstance(step.settings, ReplicaCut) and isinstance(step.figures, ReplicaCutFigures) and step.figures.whole
    ]


def csv_cells(step: Step) -> Iterator[tuple[str, object]]:
    """The columns of a step in a spreadsheet; empty for what has no replica."""
    asked = step.settings if isinstance(step.settings, ReplicaCut) else None
    told = step.figures if isinstance(step.figures, ReplicaCutFigures) and step.figures.whole else None
    for name in ("replication", "durability", "of_replica", "cut"):
        yield name, getattr(asked, name, None)
    for name in _FIGURES:
        yield name, getattr(told, name, None)


def _row(each: Measured) -> tuple[str, ...]:
    told = each.told
    numbers = (
        told.acknowledged,
        told.lost_on_primary,
        told.lost_on_replica,
        told.lost_everywhere,
        told.on_replica_alone,
    )
    return (_name(each.asked), *map(count, numbers), _short(told.gtid_primary), _short(told.gtid_replica))


def _name(asked: ReplicaCut) -> str:
    """``semi-sync high, power cut``; of a replica that is set otherwise, that too."""
    kept = asked.durability if asked.of_replica == asked.durability else f"{asked.durability}/{asked.of_replica}"
    mode = "async" if asked.replication == "asynchronous" else "semi-sync"
    return f"{mode} {kept}, {asked.cut}"


def _short(gtid: str) -> str:
    """Without the identifier of the server, which is the primary's in all of them; the document has it."""
    return _SERVER.sub("…", gtid) or NONE
