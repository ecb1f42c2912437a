"""Power cuts in the history: which were verified, how many a storage has survived, which are still to be verified.

A cut is one run of the writer, by its id: verified twice, it counts once. Cuts add up per target identity (of the time
when the records were written) since that identity's last loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.powercut.plan import NAME
from fstui.powercut.records import PREFIX
from fstui.state import ledger, runs
from fstui.state.ledger import Entry


class Saved(NamedTuple):
    """A verification that was saved."""

    path: Path
    run: Run
    figures: PowerCutFigures


def figures_of(run: Run) -> PowerCutFigures | None:
    """The figures of a power-cut run, or None where it is another one."""
    return next((step.figures for step in run.steps if isinstance(step.figures, PowerCutFigures)), None)


def verified() -> Iterator[Saved]:
    """Every verification, newest first; one that was altered since proves nothing."""
    for summary in runs.history():
        if summary.scenario == NAME and not (summary.unreadable or summary.altered):
            try:
                run = runs.read(Path(summary.path))
            except Refused:
                continue
            if (figures := figures_of(run)) is not None:
                yield Saved(Path(summary.path), run, figures)


class Earlier(NamedTuple):
    """What was there when a cut is verified."""

    decided: Saved | None
    """The newest verification of the same cut that decided something."""
    survived: int
    """How many other cuts its storage has survived since its last loss."""


def earlier(cut: str, identity: str) -> Earlier:
    """Before this cut's verification."""
    saved = list(verified())
    return Earlier(_decided(saved, cut), _survived(saved, identity, besides=cut))


class SoFar(NamedTuple):
    """What is known before a cut."""

    survived: int
    """How many its storage has survived since its last loss."""
    pending: list[Entry]
    """Cuts, of whatever storage, that wait to be verified."""


def so_far(identity: str) -> SoFar:
    """Of that storage; an empty identity is none."""
    return SoFar(_survived(verified(), identity) if identity else 0, pending())


def _survived(saved: Iterable[Saved], identity: str, besides: str = "") -> int:
    kept: set[str] = set()
    for found in saved:
        figures = found.figures
        if figures.identity != identity or figures.cut == besides:
            continue
        if figures.any_lost:
            break
        if figures.kept:
            kept.add(figures.cut)
    return len(kept)


def _decided(saved: Iterable[Saved], cut: str) -> Saved | None:
    """One before the cut decides nothing."""
    of_cut = (found for found in saved if found.figures.cut == cut)
    return next((found for found in of_cut if found.figures.decides), None)


def pending() -> list[Entry]:
    """Directories of cuts that nobody has verified yet, whose writer is dead: they must survive until then."""
    return _unverified(ledger.stale())


def left_behind() -> list[Entry]:
    """What killed runs have left, and what cuts that are verified have: all that may be removed without a question."""
    stale = ledger.stale()
    kept = _unverified(stale)
    return [entry for entry in stale if entry not in kept]


def _unverified(entries: list[Entry]) -> list[Entry]:
    """Those of cuts that nothing saved has decided. The saved runs are read once, and only where there is a cut."""
    cuts = [entry for entry in entries if Path(entry.what).name.startswith(PREFIX)]
    decided = {saved.figures.cut for saved in verified() if saved.figures.decides} if cuts else set()
    return [entry for entry in cuts if Path(entry.what).name.removeprefix(PREFIX) not in decided]
