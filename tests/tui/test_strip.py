"""The latency strip: a decade a row, labelled at its lower edge, on an axis that stays put."""

from __future__ import annotations

import pytest

from fstui.model.steps import TimelinePoint
from fstui.tui.drawing import strip


def drawn(
    *points: TimelinePoint, limit_ns: int | None = None, length_s: float | None = 2.0, elapsed_s: float = 2.0
) -> list[str]:
    lines = strip.draw(points, width=80, rows=6, bottom=4, elapsed_s=elapsed_s, length_s=length_s, limit_ns=limit_ns)
    return [text.plain for text in lines]


def point(t_s: float, p50_ns: int, max_ns: int, ops: int = 10) -> TimelinePoint:
    return TimelinePoint(t_s=t_s, ops=ops, p50_ns=p50_ns, max_ns=max_ns)


def test_each_row_is_labelled_at_its_lower_edge() -> None:
    labels = [line[:9] for line in drawn()[:-1]]
    assert labels == ["    1 s ┤", " 100 ms ┤", "  10 ms ┤", "   1 ms ┤", " 100 µs ┤", "  10 µs ┤"]


@pytest.mark.parametrize(
    ("p50_ns", "row", "block"),
    [(1_000_000, 3, "▁"), (3_200_000, 3, "▅"), (9_990_000, 3, "█"), (10_000_000, 2, "▁"), (12_000, 5, "▁")],
)
def test_eighth_blocks_show_where_in_its_decade_p50_lies(p50_ns: int, row: int, block: str) -> None:
    assert drawn(point(0.0, p50_ns, p50_ns))[row][9] == block


def test_a_maximum_is_drawn_only_above_the_decade_of_p50() -> None:
    lines = drawn(point(0.0, 1_200_000, 19_000_000), point(1.0, 1_200_000, 5_000_000))
    assert lines[2].count("'") > 0
    assert lines[3].count("'") == 0
    assert "'" not in lines[2][9 + 34 :]


def test_what_lies_outside_the_axis_is_drawn_at_its_edge() -> None:
    lines = drawn(point(0.0, 2_000, 100_000_000_000))
    assert lines[5][9] == "▁"
    assert lines[0][9] == "'"


def test_the_limit_is_a_line_where_nothing_else_stands() -> None:
    lines = drawn(point(0.0, 1_200_000, 1_200_000), point(1.0, 1_200_000, 1_200_000), limit_ns=8_333_333)
    assert lines[3].startswith("   1 ms ┤▁")
    assert set(drawn(limit_ns=8_333_333)[3][9:]) == {"╌"}


def test_a_timed_step_fills_from_left_to_right_over_its_known_length() -> None:
    points = [point(at / 30, 1_200_000, 1_200_000) for at in range(30)]
    assert len(drawn(*points, elapsed_s=1.0)[3].rstrip()) == pytest.approx(9 + 34, abs=2)
    assert drawn()[-1].split() == ["0", "s", "0.5", "1.0", "1.5", "2.0"]


def test_an_open_ended_step_shows_its_newest_seconds_at_the_right() -> None:
    points = [point(at, 1_200_000 if at < 190 else 120_000, 1_200_000) for at in range(200)]
    lines = drawn(*points, length_s=None, elapsed_s=199.5)
    assert lines[4][-1] == "▁"
    assert lines[-1].split()[0] != "0"


def test_a_gap_stays_a_gap() -> None:
    line = drawn(point(0.0, 1_200_000, 1_200_000), point(0.1, 1_200_000, 1_200_000), point(1.9, 1_200_000, 1_200_000))[
        3
    ]
    assert "▁ " in line and " ▁" in line


@pytest.mark.parametrize(
    ("p50_ns", "rows", "bottom"),
    [(1_200_000, 6, 4), (None, 6, 4), (2_000, 6, 2), (40_000_000_000, 6, 5), (1_200_000, 2, 6)],
)
def test_the_axis_has_room_around_the_first_p50(p50_ns: int | None, rows: int, bottom: int) -> None:
    assert strip.bottom_decade(p50_ns, rows) == bottom
