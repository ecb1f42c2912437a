"""How far what is written has come when the call returns, step by step: a bar for each, down to where it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.text import Text

from fstui.model.settings import Settings
from fstui.model.storage import Target
from fstui.report.reach import Place, Reach, places, reach
from fstui.report.simulated import in_truth
from fstui.runs.simulation import Simulated
from fstui.tui.drawing.cells import Run, fit, line
from fstui.tui.styles import BAD, DOUBT, FAINT, GOOD

_MOST_NAME, _LEAST_PLACE = 24, 13
_KEPT = {True: ("✓", "green"), False: ("✗", "yellow"), None: ("?", "")}
TITLE = "where the data should be as calls return"
"""Should: a layer that does not keep its word is drawn as if it did."""
TRUTH = "where the data is as calls return"
"""Of what is simulated it is known."""
LEGEND = "✗ lost, ✓ kept: without power"


class Asked(NamedTuple):
    name: str
    settings: Settings


def lines(
    asked: Sequence[Asked], target: Target, width: int, *, told: bool = True, truth: Simulated | None = None
) -> list[Text]:
    """A heading with the places, and a bar for each step; not ``told``: how far it comes is still to be found out.

    ``truth``: what is simulated, drawn as it is and not as it says.
    """
    below = places(target)
    room = min(max((cell_len(step.name) for step in asked), default=0), _MOST_NAME, width // 3)
    each = max((width - room - 6) // (len(below) + 1), min(_LEAST_PLACE, (width - room - 4) // len(below)))
    heads = [
        (fit(f"{_KEPT[place.kept][0]} {place.name}", each - 1) + " ", _KEPT[place.kept][1] if told else "")
        for place in below
    ]
    drawn = [line(" " * (room + 4), *heads)]
    for step in asked:
        found = reach(step.settings, target, below)
        found = in_truth(truth, found, below) if truth and found else found
        bar = _bar(found, below, each, width - room - 4)
        hidden = [("╌" * (each * len(below)), FAINT), (" ?", "")]
        drawn.append(line(f"  {fit(step.name, room)}  ", *(bar if told else hidden)))
    return drawn


def _bar(found: Reach | None, below: Sequence[Place], each: int, room: int) -> list[Run]:
    if found is None:
        return [(fit("as its program does it", room).rstrip(), FAINT)]
    kept = below[found.place].kept
    style = BAD if found.stopped else GOOD if kept else DOUBT if kept is False else ""
    skipped = "╌" * each if found.past_memory and found.place else ""
    end = each * found.place + min(each // 2, 6)
    bar = "━" * max(end - len(skipped), 1) + ("✗" if found.stopped else "◂")
    left = room - len(skipped) - len(bar) - 1
    return [
        (skipped, FAINT),
        (bar, style),
        (f" {fit(found.note, left).rstrip()}" if found.note and left > 4 else "", FAINT),
    ]
