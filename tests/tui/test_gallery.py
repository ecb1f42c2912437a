"""All steps of a run side by side, where a terminal has room for them."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.tui.drawing import latency, result
from fstui.tui.drawing.result import steps
from tests.factories import screens

RUN = screens.RUN
NAMES = [step.name for step in RUN.steps]


def drawn(width: int, height: int) -> list[str]:
    return [text.plain for text in result.gallery(RUN, width, height)]


def test_each_step_has_its_map_in_the_order_they_ran() -> None:
    lines = drawn(200, 16)
    assert len(lines) <= 16 and all(len(line.rstrip()) <= 200 for line in lines)
    named = " ".join(line for line in lines if "──" in line)
    places = [named.index(f" {name} ") for name in NAMES]
    assert places == sorted(places)


def test_all_stand_on_one_axis() -> None:
    lines = drawn(200, 16)
    labels = {tuple(line[: latency.LABEL] for line in lines[at + 1 : at + 7]) for at in (0, 8)}
    assert len(labels) == 1


def test_the_table_keeps_all_its_rows_and_the_pictures_take_what_is_left() -> None:
    lines = [text.plain for text in steps(RUN, (), 0, 200, 40)]
    assert len(lines) <= 40
    assert all(name in line for name, line in zip(NAMES, lines[1:], strict=False))
    assert len(lines) > len(NAMES) + 10


def test_there_are_none_without_room_or_of_one_step() -> None:
    assert drawn(200, 13) == [] and drawn(80, 24) == [] and drawn(30, 20) == []
    alone = replace(RUN, steps=RUN.steps[:1])
    assert result.gallery(alone, 200, 40) == []
