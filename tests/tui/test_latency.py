from itertools import pairwise

import pytest
from msgspec.structs import replace

from fstui.model.steps import Latency, PendingOperation, TimelinePoint
from fstui.report import latency_map
from fstui.report.latency_map import Mark
from fstui.tui.drawing import charts, latency, result
from fstui.tui.drawing.latency import LatencyView
from fstui.tui.styles import BAD, WARNING
from fstui.tui.terminal import to_ascii
from tests.factories import screens

MS = 1_000_000
LATENCY = Latency(min=MS, mean=MS, p50=MS, p90=2 * MS, p95=2 * MS, p99=5 * MS, p99_9=None, max=19 * MS)


def point(t_s: float, *cells: tuple[int, int]) -> TimelinePoint:
    """Return a point of a timeline whose operations have these latencies: (ns, count)."""
    ops = sum(count for _, count in cells)
    return TimelinePoint(t_s=t_s, ops=ops, p50_ns=cells[0][0], max_ns=cells[-1][0], spread=cells)


def seconds(length_s: float, *cells: tuple[int, int], parts: int = 60) -> tuple[TimelinePoint, ...]:
    return tuple(point(round(at * length_s / parts, 3), *cells) for at in range(parts))


def drawn(view: LatencyView, width: int = 80, height: int = 7) -> list[str]:
    return [text.plain for text in latency.heat_map(view, width, height)]


def field(line: str) -> str:
    """Return the map of a line of 80 columns, without labels."""
    return line[latency.LABEL_WIDTH : 80 - latency.MARKS_WIDTH]


@pytest.mark.parametrize("length_s", [0.5, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("width", [50, 80, 117, 200])
def test_rounded_times_leave_no_gaps(length_s: float, width: int) -> None:
    view = LatencyView(seconds(length_s, (MS, 9)), elapsed_s=length_s, length_s=length_s)
    ends = width - (latency.MARKS_WIDTH if width >= latency.MIN_WIDTH_WITH_MARKS else latency.LAST_TIME_CELLS)
    (line,) = (line[latency.LABEL_WIDTH : ends] for line in drawn(view, width) if any("⠀" < c <= "⣿" for c in line))
    assert " " not in line and len(line) == ends - latency.LABEL_WIDTH


@pytest.mark.parametrize("rows", [2, 3, 4, 6])
def test_a_stall_is_red_in_a_map_with_few_rows(rows: int) -> None:
    view = LatencyView((point(0.0, (100_000, 99), (8000 * MS, 1)),), elapsed_s=1.0, length_s=1.0, latency=LATENCY)
    top = latency.heat_map(view, 80, rows + 1)[0]
    assert any(BAD in str(span.style) for span in top.spans)


def test_a_gap_in_the_data_is_shown() -> None:
    view = LatencyView((point(0.0, (MS, 9)), point(0.1, (MS, 9)), point(1.9, (MS, 9))), elapsed_s=2.0, length_s=2.0)
    (line,) = (field(line) for line in drawn(view) if "⠀" < line[latency.LABEL_WIDTH] <= "⣿")
    assert line.strip().count(" ") > 40


def test_a_step_of_known_length_fills_the_map() -> None:
    view = LatencyView(seconds(2.0, (MS, 9))[:30], elapsed_s=1.0, length_s=2.0)
    (line,) = (field(line) for line in drawn(view) if "⠀" < line[latency.LABEL_WIDTH] <= "⣿")
    assert len(line.rstrip()) == pytest.approx(25, abs=1)
    assert drawn(view)[-1].split() == ["0", "s", "0.5", "1.0", "1.5", "2.0"]


@pytest.mark.parametrize(
    ("length_s", "times"), [(1.69, "0 s 0.5 1.0 1.5"), (1.0, "0 s 0.2 0.4 0.6 0.8 1.0"), (60, "0 s 20 40 60")]
)
def test_times_are_round(length_s: float, times: str) -> None:
    view = LatencyView(seconds(length_s, (MS, 9)), elapsed_s=length_s, length_s=length_s)
    assert drawn(view)[-1].split() == times.split()


def test_a_narrow_map_has_times_that_stay_apart() -> None:
    view = LatencyView(seconds(1.0, (MS, 9)), elapsed_s=1.0, length_s=1.0)
    assert drawn(view, width=54)[-1].split() == ["0", "s", "0.5", "1.0"]


def test_an_open_ended_step_scrolls() -> None:
    points = tuple(point(float(at), (MS if at < 190 else 100 * MS, 9)) for at in range(200))
    lines = drawn(LatencyView(points, elapsed_s=199.5, length_s=None))
    assert any(field(line).endswith(" " * 0 + field(line)[-1]) and field(line)[-1] > "⠀" for line in lines[:2])
    assert lines[-1].split()[0] != "0"


def test_the_p95_of_each_second_is_a_line_with_its_numbers() -> None:
    points = tuple(TimelinePoint(t_s=at, ops=ops, p50_ns=ns) for at, ops, ns in ((0, 300, 5 * MS), (1, 400, 2 * MS)))
    view = LatencyView(points, elapsed_s=2.0, length_s=4.0)
    lines = [text.plain for text in latency.chart(view, 80, 24, "transactions")]
    assert sum("5.0 ms" in text for text in lines) == sum("2.0 ms" in text for text in lines) == 1
    rates = lines[next(row for row, text in enumerate(lines) if "transactions/s" in text) :]
    assert [any(f" {number} " in text for text in rates) for number in (300, 400)] == [True, True]
    assert "⣿" not in "".join(lines), "the area below the line is empty"
    joined = [text for text in lines[1:10] if any("⠀" < sign <= "⣿" for sign in text)]
    assert len(joined) == 6, "the line has no gap between 5 ms and 2 ms"


@pytest.mark.parametrize("height", [13, 20, 31])
def test_decades_are_labelled_where_they_begin(height: int) -> None:
    lines = drawn(LatencyView(seconds(1.0, (30_000, 9), (40 * MS, 1))), height=height)
    labels = {row: line[:8].strip() for row, line in enumerate(lines) if "┤" in line}
    assert list(labels.values())[-3:] == ["10 ms", "1 ms", "100 µs"]
    assert len({lower - upper for upper, lower in pairwise(labels)}) == 1, "all decades have the same height"


def test_a_curve_omits_the_interval_that_is_not_over() -> None:
    points = tuple(TimelinePoint(t_s=at, ops=ops, p50_ns=MS) for at, ops in ((0, 100), (1, 100), (2, 5)))
    for elapsed_s, is_over in ((2.2, False), (3.0, True)):
        curve = "\n".join(line.plain for line in latency.rates(LatencyView(points, elapsed_s, 4.0), 60, 8))
        assert "100" in curve and (" 5 " in curve) == is_over


def test_rare_and_common_latencies_have_two_colours() -> None:
    lines = latency.heat_map(LatencyView(seconds(1.0, (MS, 99), (19 * MS, 1)), latency=LATENCY), 80, 9)
    styles = {str(span.style) for line in lines for span in line.spans if "⠀" < line.plain[span.start] <= "⣿"}
    assert len(styles) == 2


def test_the_share_of_sparse_periods_is_their_common_share() -> None:
    timeline = [point(at / 100, (2 * MS if at == 20 else MS, 1)) for at in range(100)]
    shares = [piece.cells[0][2] for piece in latency_map.slices(timeline)]
    assert len(shares) == 100 and shares.count(0.02) == 1 and set(shares) == {0.02, 0.98, 1.0}


def test_stalls_and_impossible_latencies_have_own_colours() -> None:
    view = LatencyView(seconds(1.0, (MS, 99), (400 * MS, 1)), latency=LATENCY, marks=(Mark("revolution", 8.3 * MS),))
    lines = latency.heat_map(view, 80, 13)
    painted = [{str(span.style) for span in line.spans if "⠀" < line.plain[span.start] <= "⣿"} for line in lines]
    assert {BAD} in painted and {WARNING} in painted
    assert any("╌╌╌" in line.plain for line in lines)
    assert any(line.plain.endswith("↓revolution  8.3 ms") for line in lines)


def test_percentiles_and_references_are_at_the_right() -> None:
    marks = (Mark("last run", 1.5 * MS), Mark("published", 12 * MS), Mark("idle flush", 3 * MS))
    lines = drawn(LatencyView(seconds(1.0, (MS, 99), (19 * MS, 1)), latency=LATENCY, marks=marks), height=21)
    beside = [line[80 - latency.MARKS_WIDTH :].split() for line in lines[:-1]]
    names = [words[0].strip("◂·╌") or words[1] for words in beside if words]
    assert names == ["max", "published", "p99", "idle", "p90", "last", "p50"]


def test_a_revolution_or_half_of_one_is_a_reference() -> None:
    named = {step.name: dict(latency_map.marks(screens.RUN, step.name, step.settings)) for step in screens.RUN.steps}
    assert named["same block, fdatasync"]["revolution"] == 2 * named["fdatasync"]["half rev."]
    assert not {"revolution", "half rev."} & {*named["O_DIRECT"], *named["write, no sync"]}, "they are not synced"


def test_no_dot_is_above_the_maximum() -> None:
    measured = replace(point(0.0, (10_485_760, 9)), max_ns=8_500_000)
    assert max(upper for _, upper, _ in next(latency_map.slices([measured])).cells) == 8_500_000


def test_an_arrow_shows_where_the_value_of_a_moved_label_is() -> None:
    close = replace(LATENCY, p90=1.02 * MS, p99=1.3 * MS, max=1.5 * MS)
    lines = drawn(LatencyView(seconds(1.0, (MS, 99), (19 * MS, 1)), latency=close), height=8)
    labels = [line[80 - latency.MARKS_WIDTH :].split() for line in lines if " ms" in line[20:]]
    assert labels == [["↓max", "1.5", "ms"], ["↓p99", "1.3", "ms"], ["◂p50–p90", "1.0", "ms"]]
    assert lines[-1].endswith("  1.0  ↑ above, ↓ below")


def test_a_logarithmic_axis_has_at_least_two_ticks() -> None:
    for low, high in ((120_000, 590_000), (2 * MS, 9 * MS), (MS, MS)):
        lines = drawn(LatencyView(seconds(1.0, (low, 99), (high, 1))), height=7)
        assert sum("┤" in line for line in lines) >= 2


@pytest.mark.parametrize("height", [2, 3, 5, 9, 40])
@pytest.mark.parametrize("width", [20, 50, 80, 200])
def test_a_map_fits_any_size(width: int, height: int) -> None:
    marks = (Mark("revolution", 8.3 * MS), Mark("last run", 1.5 * MS))
    for timeline in ((), seconds(1.0, (900, 5), (30_000 * MS, 1))):
        lines = drawn(LatencyView(timeline, latency=LATENCY, marks=marks), width, height)
        assert len(lines) == height
        assert max(map(len, lines)) <= max(width, 30)


def test_an_operation_that_does_not_return_is_drawn() -> None:
    stall = PendingOperation(call="fdatasync", elapsed_s=0.5)
    lines = latency.heat_map(LatencyView(seconds(2.0, (MS, 9))[:15], elapsed_s=1.0, length_s=2.0, stall=stall), 80, 9)
    (line,) = (line for line in lines if "▲" in line.plain)
    assert line.plain.count("▲") > 10
    assert BAD in {str(span.style) for span in line.spans}


def test_an_old_document_shows_median_and_maximum() -> None:
    point = TimelinePoint(t_s=0.0, ops=100, p50_ns=MS, max_ns=19 * MS)
    assert [cell[:2] for cell in next(latency_map.slices([point])).cells] == [
        (MS / latency_map.QUARTER_OCTAVE, MS),
        (19 * MS / latency_map.QUARTER_OCTAVE, 19 * MS),
    ]


def test_ascii_keeps_the_density() -> None:
    lines = [to_ascii(line) for line in drawn(LatencyView(seconds(1.0, (MS, 99), (19 * MS, 1)), latency=LATENCY))]
    assert all(line.isascii() and "?" not in line for line in lines)


def test_the_axis_seldom_moves() -> None:
    axes = {latency_map.axis(seconds(1.0, (MS, 99), (at * MS, 1))) for at in range(11, 20)}
    assert len(axes) == 1


def test_a_sparkline_follows_the_latency() -> None:
    steady = seconds(1.0, (MS, 9))
    assert set(charts.sparkline(steady, 16, charts.p99_scale([steady]))) == {"▁"}
    slower = tuple(point(at / 60, (MS if at < 30 else 12 * MS, 9)) for at in range(60))
    drawn = charts.sparkline(slower, 16, charts.p99_scale([slower]))
    assert len(drawn) == 16 and drawn[0] == "▁" and drawn[-1] == "▆", "lines do not touch"
    assert charts.sparkline((), 16, charts.p99_scale([])) == ""


def test_the_sparklines_of_all_steps_have_one_scale() -> None:
    fast, slow = seconds(1.0, (MS, 9)), seconds(1.0, (30 * MS, 9))
    scale = charts.p99_scale([fast, slow])
    assert set(charts.sparkline(fast, 4, scale)) == {"▁"} and set(charts.sparkline(slow, 4, scale)) == {"▇"}


def test_a_sparkline_shows_the_p99() -> None:
    spiky = tuple(replace(one, p99_ns=MS * (1 + 9 * (one.t_s >= 0.5))) for one in seconds(1.0, (MS, 9)))
    assert charts.sparkline(spiky, 4, charts.p99_scale([spiky])) == "▁▁▇▇"


def test_the_brightness_of_a_map_is_explained() -> None:
    (rule, *_) = result.picture(screens.RUN, screens.RUN.steps[3], 80, 9)
    assert rule.plain.endswith(" share of the operations: few ⣿⣿⣿ many ──") and rule.cell_len == 80
    (rule, *_) = result.picture(screens.RUN, screens.RUN.steps[3], 50, 9)
    assert "operations" not in rule.plain and rule.plain.endswith(" few ⣿⣿⣿ many ──")
    (rule, *_) = result.picture(screens.RUN, screens.RUN.steps[3], 30, 9)
    assert "⣿" not in rule.plain and rule.cell_len == 30


def test_a_sparkline_has_only_the_gaps_of_the_data() -> None:
    whole, gap = seconds(2.0, (MS, 9), parts=20), (point(0.0, (MS, 9)), point(0.1, (MS, 9)), point(1.9, (MS, 9)))
    scale = charts.p99_scale([whole, gap])
    assert set(charts.sparkline(whole, 90, scale)) == {"▁"}
    assert charts.sparkline(gap, 20, scale).count(" ") == pytest.approx(17, abs=1)


def test_a_step_that_stalls_at_its_first_operation_has_a_map() -> None:
    """Its timeline contains counters only."""
    waiting = tuple(TimelinePoint(t_s=float(at), ops=0, flushes=1) for at in range(8))
    stall = PendingOperation(call="pwrite64", elapsed_s=7.7)
    view = LatencyView(waiting, elapsed_s=7.7, length_s=8.0, stall=stall)
    assert [text.plain for text in latency.chart(view, 80, 12)] == drawn(view, 80, 12)
    assert sum("▲" in text for text in drawn(view, 80, 12)) == 1


@pytest.mark.parametrize("rows", [7, 8, 13, 17, 23])
def test_decades_have_equal_heights(rows: int) -> None:
    view = LatencyView((point(0.0, (4_400, 99), (40 * MS, 9)),), elapsed_s=1.0, length_s=1.0, latency=LATENCY)
    labels = [line.plain[: latency.LABEL_WIDTH] for line in latency.heat_map(view, 80, rows + 1)]
    ticks = [y for y, label in enumerate(labels) if "┤" in label]
    assert len(ticks) > 1 and len({lower - upper for upper, lower in pairwise(ticks)}) == 1
