"""What the judge says, and why: of a saved run again, and of each rule by its name."""

from __future__ import annotations

from fstui.judge import explain, judge, rule_names
from fstui.model.run import Run
from fstui.model.seal import sealed

__all__ = ["explain", "judged_again", "rule_names"]


def judged_again(run: Run, *, altered: bool = False) -> Run:
    """The same evidence with today's rules; of an altered run the digest stays that of another document."""
    again = run.judged(judge(run))
    return sealed(again) if run.digest and again != run and not altered else again
