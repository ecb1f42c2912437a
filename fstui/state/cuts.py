"""Power cuts in the history: which were verified, how many a storage has survived, which are still to be verified.

A cut is one run of the writer, by its id: verified twice, it counts once. Cuts add up per target identity (of the time
when the records were written) since that identity's last loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from fstui.model import PowerCutFigures, Refused, Run
from fstui.state import ledger, runs
from fstui.state.ledger import Entry

PREFIX = ".fstui-powercut-"
"""The directories of the writers (fstui.probes.records)."""


class Verified(NamedTuple):
    """A verification that was saved."""

    path: Path
    figures: PowerCutFigures


def figures_of(run: Run) -> PowerCutFigures | None:
    """The figures of a power-cut run, or None where it is another one."""
    for step in run.steps:
        if step.probe == "powercut":
            try:
                return msgspec.convert(step.figures, PowerCutFigures)
            except msgspec.ValidationError:
                return None
    return None


def verified() -> Iterator[Verified]:
    """Every verification, newest first."""
    for summary in runs.history():
        if summary.scenario == "power-cut" and summary.unreadable is None:
            try:
                figures = figures_of(runs.read(Path(summary.path)))
            except Refused:
                continue
            if figures is not None:
                yield Verified(Path(summary.path), figures)


def of_cut(cut: str) -> Verified | None:
    """The newest verification of that cut that decided something, or None. One before the cut decides nothing."""
    return next((found for found in verified() if found.figures.cut == cut and _decided(found.figures)), None)


def _decided(figures: PowerCutFigures) -> bool:
    return figures.kept or figures.any_lost or figures.ended is not None


def survived(identity: str, besides: str) -> int:
    """How many other cuts that identity has survived since its last loss."""
    kept: set[str] = set()
    for found in verified():
        figures = found.figures
        if figures.identity != identity or figures.cut == besides:
            continue
        if figures.any_lost:
            break
        if figures.kept:
            kept.add(figures.cut)
    return len(kept)


def pending() -> list[Entry]:
    """Directories of cuts that nobody has verified yet, whose writer is dead: they must survive until then."""
    return [entry for entry in ledger.stale() if is_pending(entry)]


def is_pending(entry: Entry) -> bool:
    """It holds the records of a cut that is not verified yet."""
    name = Path(entry.what).name
    return name.startswith(PREFIX) and of_cut(name.removeprefix(PREFIX)) is None


def left_behind() -> list[Entry]:
    """What killed runs have left, and what cuts that are verified have: all that may be removed without a question."""
    return [entry for entry in ledger.stale() if not is_pending(entry)]
