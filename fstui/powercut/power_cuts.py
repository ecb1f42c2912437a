"""Power cuts in the history: verified cuts, survived cuts of a target, and cuts that are not yet verified.

A cut has the run id of its writer, so verifying it twice counts once. Survived cuts are counted per identity of the
target (as it was before the cut), since the last loss of that identity.
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
from fstui.state.ledger import LedgerEntry


class VerifiedCut(NamedTuple):
    path: Path
    run: Run
    figures: PowerCutFigures


def figures_of(run: Run) -> PowerCutFigures | None:
    return next((step.figures for step in run.steps if isinstance(step.figures, PowerCutFigures)), None)


def verified() -> Iterator[VerifiedCut]:
    """Yield every verification, newest first. Altered ones are skipped, because they prove nothing."""
    for summary in runs.history():
        if summary.scenario == NAME and not (summary.unreadable or summary.altered):
            try:
                run = runs.read(Path(summary.path))
            except Refused:
                continue
            if (figures := figures_of(run)) is not None:
                yield VerifiedCut(Path(summary.path), run, figures)


class EarlierCuts(NamedTuple):
    decided: VerifiedCut | None
    """The newest conclusive verification of the same cut."""
    survived: int
    """How many other cuts the target has survived since its last loss."""


def earlier(cut: str, identity: str) -> EarlierCuts:
    saved = list(verified())
    decided = next((step for step in saved if step.figures.cut == cut and step.figures.is_final), None)
    return EarlierCuts(decided, _survived(saved, identity, except_cut=cut))


class SoFar(NamedTuple):
    survived: int
    """How many cuts the target has survived since its last loss."""
    pending: list[LedgerEntry]
    """Cuts of any target that are not yet verified."""


def so_far(identity: str) -> SoFar:
    """Return the state of the target with this identity; if that is empty, only the pending cuts."""
    return SoFar(_survived(verified(), identity) if identity else 0, pending())


def _survived(newest_first: Iterable[VerifiedCut], identity: str, except_cut: str = "") -> int:
    survived: set[str] = set()
    for step in newest_first:
        figures = step.figures
        if figures.identity != identity or figures.cut == except_cut:
            continue
        if figures.any_lost:
            break
        if figures.survived_power_cut:
            survived.add(figures.cut)
    return len(survived)


def pending() -> list[LedgerEntry]:
    """Return the directories of unverified cuts whose writer is dead. They must not be removed before verification."""
    return _unverified(ledger.stale_entries())


def left_behind() -> list[LedgerEntry]:
    """Return what killed runs and verified cuts left behind: everything that can be removed without asking."""
    stale = ledger.stale_entries()
    unverified = _unverified(stale)
    return [entry for entry in stale if entry not in unverified]


def _unverified(entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """Return the entries of cuts without a conclusive verification. Reads the saved runs only if there is a cut."""
    cuts = [entry for entry in entries if Path(entry.what).name.startswith(PREFIX)]
    decided = {saved.figures.cut for saved in verified() if saved.figures.is_final} if cuts else set()
    return [entry for entry in cuts if Path(entry.what).name.removeprefix(PREFIX) not in decided]
