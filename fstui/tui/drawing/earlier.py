"""What was measured on a filesystem's storage before: the last verdict of each scenario, and how its rate went."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from fstui.model.quantities import rate
from fstui.model.storage import Target
from fstui.report import trend
from fstui.report.text import moment
from fstui.runs.history import Summary
from fstui.tui.drawing.cells import fit, line
from fstui.tui.glyphs import FAINT, of_verdict

_MOST, _MOST_BARS = 3, 12


def of_target(summaries: Sequence[Summary], target: Target, hostname: str) -> list[Summary]:
    """Those of this storage on this box."""
    wanted = (target.identity, hostname)
    return [one for one in summaries if one.identity and (one.identity, one.hostname) == wanted]


def lines(summaries: Sequence[Summary], width: int, most: int = _MOST) -> list[Text]:
    """One for each scenario, the newest first; nothing where nothing was run."""
    drawn: list[Text] = []
    for runs in trend.series(summaries)[:most]:
        last, recent = runs[-1], runs[-_MOST_BARS:]
        glyph, style = of_verdict(last.verdict)
        words = (
            f" {last.verdict}   {last.scenario}: {last.rate_of} {rate(last.rate_per_s)}/s   {moment(last.started_at)}"
        )
        if len(runs) > 1:
            words += f"   {trend.bars(recent)} {last.rate_per_s / runs[0].rate_per_s:.2f} × the first of {len(runs)}"
        head = "" if drawn else "runs"
        drawn.append(line((f"  {head:<6}", FAINT), (glyph, style), fit(words, width - 9).rstrip()))
    return drawn
