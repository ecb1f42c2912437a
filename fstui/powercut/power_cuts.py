"""Find power cuts in the history: verified cuts, survived cuts of a target, and cuts that are not yet verified.

A cut has the run id of its writer, so a cut that is verified twice counts once. Survived cuts are counted for each
target, by the identity that was recorded before the cut. A cut that lost data resets the count to 0.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.measure.wire.own_directory import POWER_CUT_PREFIX
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.powercut.plan import NAME
from fstui.state import ledger, runs
from fstui.state.ledger import LedgerEntry


class VerifiedCut(NamedTuple):
    path: Path
    run: Run
    figures: PowerCutFigures


def figures_of(run: Run) -> PowerCutFigures | None:
    return next((step.figures for step in run.steps if isinstance(step.figures, PowerCutFigures)), None)


def verified_cuts() -> Iterator[VerifiedCut]:
    """Yield all verified cuts, newest first. Altered documents are skipped, because they prove nothing."""
    for summary in runs.history():
        if summary.scenario == NAME and not (summary.unreadable or summary.altered):
            try:
                run = runs.read(Path(summary.path))
            except Refused:
                continue
            if (figures := figures_of(run)) is not None:
                yield VerifiedCut(Path(summary.path), run, figures)


class EarlierCuts(NamedTuple):
    same_cut: VerifiedCut | None
    """The newest conclusive verification of this cut."""
    survived_cuts: int
    """How many other cuts the target has survived since its last loss."""


def read_earlier_cuts(cut: str, identity: str) -> EarlierCuts:
    cuts = list(verified_cuts())
    same_cut = next((saved for saved in cuts if saved.figures.cut == cut and saved.figures.is_final), None)
    return EarlierCuts(same_cut, _count_survived(cuts, identity, except_cut=cut))


class CutHistory(NamedTuple):
    survived_cuts: int
    """How many cuts the target has survived since its last loss."""
    unverified_cuts: list[LedgerEntry]
    """Cuts of any target that are not yet verified."""


def read_history(identity: str) -> CutHistory:
    """Return the cuts of the target with this identity. If the identity is empty, return only the unverified cuts."""
    return CutHistory(_count_survived(verified_cuts(), identity) if identity else 0, leftovers().unverified_cuts)


def _count_survived(newest_first: Iterable[VerifiedCut], identity: str, except_cut: str = "") -> int:
    survived_cuts: set[str] = set()
    for saved in newest_first:
        figures = saved.figures
        if figures.identity != identity or figures.cut == except_cut:
            continue
        if figures.any_lost:
            break
        if figures.survived_power_cut:
            survived_cuts.add(figures.cut)
    return len(survived_cuts)


class Leftovers(NamedTuple):
    removable: list[LedgerEntry]
    """The entries of runs that were killed and of cuts that are verified."""
    unverified_cuts: list[LedgerEntry]
    """The entries of cuts whose writer has ended. The verification needs their directories."""


def leftovers() -> Leftovers:
    stale = ledger.stale_entries()
    cuts = [entry for entry in stale if Path(entry.what).name.startswith(POWER_CUT_PREFIX)]
    # read the saved runs only if there is such an entry
    final_cuts = {saved.figures.cut for saved in verified_cuts() if saved.figures.is_final} if cuts else set()
    unverified = [entry for entry in cuts if Path(entry.what).name.removeprefix(POWER_CUT_PREFIX) not in final_cuts]
    return Leftovers([entry for entry in stale if entry not in unverified], unverified)
