import json

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from fstui.model.host import Process
from fstui.model.judgement import Verdict
from fstui.model.quantities import rate
from fstui.model.run import Round, Run
from fstui.model.storage import Reading
from fstui.report import comparison, formats
from fstui.report.compare import NOTES_TITLE, RANKING_HEADER, comparison_report
from fstui.report.comparison import Comparison, Ratio, ratio_of
from fstui.report.figures import Counts
from fstui.report.sections import cell_text
from tests import printing
from tests.factories import screens, storage
from tests.factories import steps as made
from tests.factories.databases import database
from tests.factories.evidence import evidence
from tests.factories.samples import RUN, SYNCED, UNSYNCED
from tests.hostile import assert_safe, everywhere
from tests.report.test_formats import Elements

STEP = "fdatasync"


def run(name: str, times: float, verdict: Verdict = "consistent") -> Run:
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * times) for step in screens.STEPS)
    return replace(screens.RUN, id=name, steps=steps, verdict=verdict)


def ran(side: int, number: int, times: float, *, series: str = "s", verdict: Verdict = "consistent") -> Run:
    round_ = Round(series=series, side=side, number=number, of=3)
    return replace(run(f"{series}{side}{number}", times, verdict), round=round_)


def ratio(*runs: Run) -> Ratio:
    first, other = Comparison(runs).sides
    found = ratio_of(first, other, STEP)
    assert found is not None
    return found


def printed(*runs: Run, name: str = "plain", width: int | None = 80) -> str:
    return printing.as_text(comparison_report(runs), name, width)


def test_the_median_round_represents_its_side() -> None:
    slow, fast, middle = ran(0, 1, 1.0), ran(0, 2, 9.0), ran(0, 3, 2.0)
    (side,) = Comparison([slow, fast, middle]).sides
    assert side.rounds == (slow, fast, middle) and side.name == "s01 ×3"
    found = side.step(STEP)
    assert found is not None and found.run is middle


def test_worst_speed_of_all_rounds_is_shown_without_its_rate() -> None:
    stalled = replace(screens.RUN.speed, answer="stalls", title="412 ms for one operation")
    runs = [ran(0, 1, 1.0), replace(ran(0, 2, 1.0), speed=stalled), ran(0, 3, 1.0)]
    assert Comparison(runs).sides[0].speed == "stalls"
    assert "412 ms" not in printed(*runs), "the table of the steps has the median of all rounds"


def test_a_drift_of_both_sides_leaves_the_ratio() -> None:
    runs = [ran(side, at, drift * (1 + side)) for at, drift in ((1, 1.0), (2, 5.0)) for side in (0, 1)]
    assert str(ratio(*runs)) == "2.00 × (2.00–2.00)"


def test_rounds_of_two_series_are_compared_each_with_each() -> None:
    found = ratio(*(ran(0, at, float(at), series=series) for series in "ab" for at in (1, 2)))
    assert (found.low, found.high) == (0.5, 2.0) and found.undecided


def test_a_missing_round_leaves_the_other_pairs() -> None:
    found = ratio(ran(0, 1, 1.0), ran(0, 2, 4.0), ran(0, 3, 1.0), ran(1, 2, 8.0), ran(1, 3, 2.0))
    assert (found.low, found.high, found.rounds) == (2.0, 2.0, 2)


def test_a_single_pair_of_rounds_has_no_interval() -> None:
    assert str(ratio(ran(0, 1, 1.0), ran(0, 2, 4.0), ran(1, 2, 8.0), ran(1, 3, 2.0))) == "2.00 ×"


def test_only_alternating_rounds_have_a_chance() -> None:
    of_one = [ran(side, at, 1.0) for at in (1, 2, 3) for side in (0, 1)]
    chance = "of 3 rounds. If both were equally fast, at most 1 interval in 4 would not contain 1."
    assert chance in Comparison(of_one).trust[1]
    of_two = [ran(0, at, 1.0, series=series) for series in "ab" for at in (1, 2, 3)]
    for runs in (of_two, [*of_one, *of_two[:2]]):
        assert "did not alternate" in Comparison(runs).trust[1] and "chance" not in Comparison(runs).trust[1]


def test_the_worst_round_is_the_verdict_of_its_side() -> None:
    (side,) = Comparison([ran(0, 1, 1.0), ran(0, 2, 1.0, verdict="not-durable")]).sides
    assert side.run.verdict == "not-durable" and not side.may_be_durable


def test_the_longer_bar_is_the_faster_side() -> None:
    runs = [ran(0, 1, 1.2), ran(1, 1, 1.0, series="other"), ran(1, 2, 3.0, series="other")]
    first, other = (shown.step.rate_per_s for side in Comparison(runs).sides if (shown := side.step(STEP)))
    assert ratio(*runs).factor == pytest.approx(other / first)


def test_an_interval_that_contains_1_shows_no_difference() -> None:
    shown = printed(ran(0, 1, 1.0), ran(0, 2, 1.0), ran(1, 1, 1.1), ran(1, 2, 0.9))
    assert "= B: no clear difference in 2 rounds" in shown and "at most 1 interval in 2 would" in " ".join(
        shown.split()
    )
    assert "no difference" not in printed(ran(0, 1, 1.0), ran(1, 1, 1.0))


def rows(*runs: Run, name: str = STEP) -> list[list[str]]:
    section = next(section for section in comparison_report(runs).sections if section.title == name)
    return [list(map(cell_text, row)) for row in section.rows]


def test_a_side_shows_the_spread_of_its_rounds() -> None:
    lowest, highest = (rate(times * screens.STEPS[1].rate_per_s) for times in (1.0, 2.0))
    assert f"A: median of 2 rounds, {lowest}–{highest}/s" in printed(ran(0, 1, 1.0), ran(0, 2, 2.0))


def test_a_single_side_has_no_ratio_and_no_bar() -> None:
    assert {tuple(cells[2:4]) for cells in rows(ran(0, 1, 1.0), ran(0, 2, 2.0))} == {("", "–")}


def test_rounds_of_one_directory_are_not_compared_with_another_run() -> None:
    assert "nothing is compared" not in printed(ran(0, 1, 1.0), ran(0, 2, 2.0))


def test_the_rate_of_two_rounds_is_their_mean() -> None:
    found = Comparison([ran(0, 1, 1.0), ran(0, 2, 2.0)]).sides[0].step(STEP)
    (measured,) = (one for one in screens.STEPS if one.name == STEP)
    assert found is not None and found.step.rate_per_s == 1.5 * measured.rate_per_s


@pytest.mark.parametrize("number", [2, 3, 6])
def test_up_to_six_runs_keep_their_order(number: int) -> None:
    found = rows(*(run(f"run{at}", at + 1.0) for at in range(number)))
    assert [letter for letter, *_ in found] == list("ABCDEF"[:number])
    assert [words for _, _, _, words, *_ in found] == [f"{times}.00 ×" for times in range(1, number + 1)]
    assert found[-1][2] == "█" * 16 and len(found[0][2]) <= 16 // number + 1


def test_the_answer_counts_the_steps_in_which_a_side_was_ahead() -> None:
    def answer(*times: float) -> str:
        mixed = [replace(step, rate_per_s=step.rate_per_s * by) for step, by in zip(screens.STEPS, times, strict=False)]
        return Comparison([screens.RUN, replace(screens.RUN, id="other", steps=tuple(mixed))]).answer

    assert answer(2.0, 3.0, 0.5, 1.05) == (
        "With one run of each, B was faster in 2 of 4 steps (2.00 to 3.00 × A), A in 1 (B: 0.50 × A); undecided in 1."
    )
    assert answer(1.0, 1.0) == "No clear difference in 2 steps."
    assert Comparison([run("a", 1.0), run("b", 2.0), run("c", 6.0)]).answer == (
        "With one run of each, C was fastest in 7 of 7 steps (6.00 × A)."
    )
    small = [ran(side, at, 1 + side / 20) for at in (1, 2) for side in (0, 1)]
    assert Comparison(small).answer == "B was faster in 7 of 7 steps (1.05 × A).", "the interval excludes 1"
    apart = [ran(side, at, 1 + side / 20, series=str(side)) for side in (0, 1) for at in (1, 2)]
    assert Comparison(apart).answer.startswith("In rounds that did not alternate, B was faster in 7 of 7 steps")
    assert Comparison([screens.RUN]).answer == Comparison([ran(0, 1, 1.0), ran(0, 2, 2.0)]).answer == ""


def test_ratios_have_at_most_three_digits() -> None:
    assert [str(comparison.Ratio(factor)) for factor in (3157.74, 49.614, 1.0, 0.9988, 0.0113)] == [
        "3\xa0160 ×", "49.6 ×", "1.00 ×", "1.00 ×", "0.011 ×",
    ]  # fmt: skip


def test_an_io_limit_that_slows_one_run_down_is_named() -> None:
    per_s = round(next(step.rate_per_s for step in screens.STEPS if step.name == STEP))
    limit = Reading(what="8:0 wiops", value=str(per_s), path="/sys/fs/cgroup/x/io.max")
    limited = replace(run("b", 1.0), process=Process(io_limits=(limit,)))
    legend = comparison_report([run("a", 1.0), limited]).sections[1]
    assert legend.header[4:] == ("I/O LIMIT",)
    assert [cell_text(row[4]) for row in legend.rows] == ["–", f"8:0 wiops {per_s}"]


def test_the_answer_begins_with_the_side_that_is_not_durable() -> None:
    for sides in ([HONEST, LYING], [HONEST, replace(LYING, steps=HONEST.steps)]):
        assert Comparison(sides).answer.startswith("B is not durable: its rates with syncs do not count. ")
    assert Comparison([HONEST, LYING]).answer.endswith("With one run of each, B was faster in 2 of 2 steps (93.0 × A).")
    synced = [replace(side, steps=tuple(step for step in side.steps if step.syncs)) for side in (HONEST, LYING)]
    assert Comparison(synced).answer.endswith("do not count.")
    assert "C was fastest in 5 of 7 steps (2.00 × A), B in 2" in Comparison([HONEST, LYING, run("c", 2.0)]).answer
    assert "not durable" not in Comparison([run("a", 1.0, "lost"), run("b", 2.0, "not-durable")]).answer


def test_rates_that_do_not_count_have_no_bar_and_no_ratio() -> None:
    synced = [replace(side, steps=tuple(step for step in side.steps if step.syncs)) for side in (LYING, HONEST)]
    report = comparison_report(synced)
    for step in (section for section in report.sections if section.header == RANKING_HEADER):
        assert [tuple(map(cell_text, row[2:4])) for row in step.rows] == [("", "–"), ("", "–")]
    assert not any("Ratios" in line for section in report.sections for line in section.lines)


def test_what_is_equal_in_all_runs_is_said_once() -> None:
    report = comparison_report([run("a", 1.0), replace(run("b", 1.0), confidence="low", status="stopped")])
    legend = report.sections[1]
    assert legend.header[4:] == ("CONFIDENCE", "STATUS")
    assert [tuple(map(cell_text, row))[4:] for row in legend.rows] == [("high", "–"), ("low", "stopped")]
    limited = replace(run("c", 1.0), status="stopped", time_limit_s=20.0)
    assert cell_text(comparison_report([run("a", 1.0), limited]).sections[1].rows[1][4]) == "time limit"
    (notes,) = [section for section in report.sections if section.title == NOTES_TITLE]
    assert notes.lines[0].startswith("The same in both: scenario odirect-truth; host db7; ")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_comparison_fits_the_width(width: int) -> None:
    lines = printed(*(run(f"run{at}", at + 1.0) for at in range(6)), width=width).splitlines()
    assert max(map(len, lines)) <= max(width, 80)


def test_a_bar_is_as_long_as_its_share_and_never_empty() -> None:
    assert comparison.bar(1.0, 10) == "█" * 10
    assert comparison.bar(0.5, 10) == "█" * 5
    assert comparison.bar(0.0001, 10) == "▏"


def test_each_step_of_a_side_that_is_not_durable_is_marked() -> None:
    """It is marked where it is faster and where it is slower, but a write without a sync promises nothing."""
    for factor in (93.0, 0.5):
        sections = comparison_report([run("durable", 1.0), run("lying", factor, "not-durable")]).sections
        marks = {section.title: [row[0] for row in section.rows] for section in sections}
        expected = {step.name: ["A", "B ✗" if step.syncs else "B"] for step in screens.STEPS}
        assert {name: marks[name] for name in expected} == expected


HONEST = run("honest", 1.0)
LYING = run("lying", 93.0, "not-durable")


@pytest.mark.parametrize("name", formats.report_names())
def test_every_format_escapes_names_and_marks_the_faster_side(name: str) -> None:
    assert_safe(printed(everywhere(HONEST), everywhere(LYING), name=name, width=None))
    shown = printed(HONEST, LYING, name=name).replace("_", " ")
    assert "not durable" in shown and "honest" in shown and "lying" in shown


def test_each_step_of_each_side_has_a_row_and_an_object() -> None:
    rows = printing.csv_rows(printed(HONEST, LYING, name="csv"))
    found = json.loads(printed(HONEST, LYING, name="json"))
    assert [side["runs"] for side in found["sides"]] == [["honest"], ["lying"]]
    assert len(rows) == len(found["steps"])
    row = next(row for row in rows if (row["step"], row["side"]) == (STEP, "B"))
    assert (float(row["times"]), row["times_low"], row["faster_but_not_durable"]) == (93.0, "", "True")


def test_the_page_contains_the_document_of_each_run() -> None:
    elements = Elements(printed(HONEST, LYING, name="html"))
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert [script["id"] for script in scripts] == ["run-0", "run-1"]
    assert [decode_run(data.encode()) for data in elements.data if data.strip()] == [HONEST, LYING]
    assert not any(tag in {"img", "link", "iframe", "a"} or "style" in found for tag, found in elements.found)


def test_steps_are_matched_by_name_and_one_alone_has_no_rank() -> None:
    twice = replace(RUN, id="fast", steps=(replace(SYNCED, rate_per_s=1680.0),))
    slow, fast = rows(RUN, twice)
    assert (fast[:2], fast[3]) == (["B", "1\xa0680"], "2.00 ×")
    assert (slow[:2], slow[3]) == (["A", "840"], "1.00 ×")
    ((letter, _, drawn, words, *_),) = rows(RUN, twice, name="write, no sync")
    assert (letter, drawn, words) == ("A", "", "–")


@pytest.mark.parametrize("width", [60, 80, None])
def test_many_runs_with_long_names_fit_the_width(width: int | None) -> None:
    named = [f"oltp_update_index O_DIRECT {pool} synchronous_commit remote_apply" for pool in ("high", "low")]
    steps = tuple(replace(SYNCED, name=name) for name in named)
    runs = [replace(RUN, id=f"run{number:03}", steps=steps) for number in range(7)]
    lines = printed(*runs, width=width).splitlines()
    assert max(map(len, lines)) <= (width or 200)
    assert sum("! suspicious" in line for line in lines) == len(runs)
    assert set(named) <= set(lines) or width == 60


DEAR = replace(
    RUN, id="dear", verdict="consistent", steps=(SYNCED, UNSYNCED, database("oltp_insert", 220.0, 9, durable=True))
)
CHEAP = replace(DEAR, id="cheap", verdict="not-durable")


def bought(**per_hour: float) -> list[tuple[str, ...]]:
    sections = comparison_report([DEAR, CHEAP], per_hour=per_hour).sections
    table = next(section for section in sections if section.header[:1] == ("per 1.00 spent",))
    return [tuple(map(cell_text, row)) for row in (table.header, *table.rows)]


def test_a_price_shows_what_one_unit_of_money_buys() -> None:
    rows = {label: values for label, *values in bought(dear=0.84, cheap=0.42)}
    assert rows["per 1.00 spent"] == ["dear", "cheap"]
    assert rows["price per hour"] == ["0.84", "0.42"]
    assert rows["fdatasync: writes"] == ["3\xa0600\xa0000", "7\xa0200\xa0000"]
    assert rows["oltp_insert high: transactions"] == ["942\xa0857", "1\xa0885\xa0714"]


def test_only_durable_operations_are_counted_as_durable() -> None:
    rows = bought(dear=0.84, cheap=0.42)
    durable = [row for row in rows if "durable" in row[0]]
    assert durable[0] == ("  of which durable", "3\xa0600\xa0000", "–")
    assert rows[rows.index(durable[0]) + 1][0] == "write, no sync: writes"
    assert not rows[rows.index(durable[0]) + 2][0].startswith("  of these")


def test_a_run_without_a_price_has_a_dash() -> None:
    assert ("fdatasync: writes", "3\xa0600\xa0000", "–") in bought(dear=0.84)
    assert "for 1.00" not in printed(DEAR, CHEAP)


def test_similar_rates_are_as_before() -> None:
    assert comparison.headline(screens.RUN, screens.RUN) == ("since run k3f9a1: suspicious as before; rates as before")


def test_a_simulated_run_has_no_id_to_look_up() -> None:
    simulated = replace(screens.RUN, simulated="hdd-7200")
    assert comparison.headline(simulated, simulated).startswith("since the previous run: ")


def test_another_verdict_and_other_rates_are_named() -> None:
    now = replace(run("now", 3.0), verdict="consistent")
    changed = comparison.changes_section(screens.RUN, now)
    assert changed.title.endswith("suspicious before, consistent now; rates 3.00 × the earlier ones")
    assert all(row[-1] == "3.00 ×" for row in changed.rows)


def test_single_runs_say_that_they_have_no_interval() -> None:
    both = (screens.RUN, replace(screens.RUN, id="other"))
    assert [side.name for side in Comparison(both).sides] == [screens.RUN.id, "other"]
    assert str(ratio(*both)) == "1.00 ×" and "have no confidence interval" in Comparison(both).trust[1]


def test_flushes_per_sync_is_that_of_the_run_on_a_busy_disk() -> None:
    done = made.step(flushes={"sda": 1.2})
    traced = made.traced("sda", us=done.syncs, others=done.syncs // 5)
    target = storage.target(storage.filesystem(below=("sda",)), storage.disk("sda"))
    seen = evidence(target, replace(done, trace=(traced,)))
    busy = [replace(screens.RUN, id=name, target=seen.target, idle=seen.idle, steps=seen.steps) for name in "ab"]
    (step,) = seen.steps
    assert Counts(busy[0]).flushes_per_sync(step, step.settings) == 1.0
    (section,) = (one for one in comparison_report(busy).sections if one.title == step.name)
    assert [cell_text(row[-1]) for row in section.rows] == ["1.00", "1.00"]


def test_runs_without_a_common_step_are_not_compared() -> None:
    named = [replace(run(name, 1.0), steps=(replace(screens.STEPS[0], name=name),)) for name in ("one", "other")]
    assert printed(*named).startswith("The runs have no step in common, so nothing is compared.")
    assert "no confidence interval" not in " ".join(printed(*named).split())  # there is no ratio
    rows_in_json = json.loads(printed(*named, name="json"))["steps"]
    assert [(row["side"], row["step"], row["times"]) for row in rows_in_json] == [
        ("A", "one", None),
        ("B", "other", None),
    ]
    assert "no step in common" not in printed(run("one", 1.0), run("other", 1.0))
