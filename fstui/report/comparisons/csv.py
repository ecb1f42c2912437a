"""One row per step and side, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

import msgspec

from fstui.model.run import Run
from fstui.report import beside
from fstui.report.beside import ComparedSide, ComparedStep
from fstui.report.formats.csv import spreadsheet_safe

_OF_SIDE = ("target", "stack", "hostname", "verdict", "speed")


def render(runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> str:
    """Empty cells: it was not counted, or there was one round. Units stand in the names."""
    found = beside.of_runs(runs)
    by_letter = {side.letter: side for side in found.sides}
    text = io.StringIO()
    names = [field.name for field in msgspec.structs.fields(ComparedStep)]
    writer = csv.DictWriter(text, [*names, "runs", *_OF_SIDE], lineterminator="\n")
    writer.writeheader()
    for step in found.steps:
        cells = msgspec.structs.asdict(step) | _of_side(by_letter[step.side])
        writer.writerow({name: spreadsheet_safe(value) for name, value in cells.items()})
    return text.getvalue()


def _of_side(side: ComparedSide) -> dict[str, object]:
    return {"runs": " ".join(side.runs)} | {name: getattr(side, name) for name in _OF_SIDE}
