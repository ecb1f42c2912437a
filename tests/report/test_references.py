import pytest
from msgspec.structs import replace

from fstui.judge.references import Placement, Reference, find_published, library
from fstui.model.judgement import Verdict
from fstui.report import references
from fstui.report.sections import cell_text
from tests.factories.samples import RUN
from tests.printing import as_text, run_as_text


def made(*rates: float) -> tuple[Reference, ...]:
    one = Reference(device="", medium="ssd", operation="fsync", per_s=1, source="a page")
    return tuple(replace(one, device=f"disk {rate:g}", per_s=rate) for rate in rates)


def placement(per_s: float, *rates: float) -> Placement:
    return Placement("fsync", per_s, 16384, frozenset({"ssd"}), made(*rates))


def rows(per_s: float, *rates: float) -> list[list[str]]:
    return [list(map(cell_text, row)) for row in references.comparison_table(placement(per_s, *rates)).rows]


def test_a_rate_is_shown_between_its_neighbours() -> None:
    assert rows(1000, 100, 10_000) == [
        ["", "100", "disk 100 [1]"],
        ["▸", "1\xa0000", "here, 16 KiB"],
        ["", "10\xa0000", "disk 10000 [1]"],
    ]
    section = references.comparison_table(placement(1000, 100, 10_000))
    assert section.title == "fsync: faster than 1 of 2 published rates for SSDs"
    assert section.lines == ("[1] a page",)


def test_a_rate_below_all_published_rates() -> None:
    title = references.comparison_table(placement(50, 100, 10_000)).title
    assert title == "fsync: 0.50 × the slowest of 2 published rates for SSDs"


def test_only_the_ends_and_the_nearest_of_many_are_drawn() -> None:
    rates = [float(rate) for rate in range(100, 3100, 100)]
    drawn = rows(1550, *rates)
    assert [row[1].replace("\xa0", "") for row in drawn] == [
        "100", "…", "1300", "1400", "1500", "1550", "1600", "1700", "1800", "…", "3000",
    ]  # fmt: skip
    assert [row[2] for row in drawn if row[1] == "…"] == ["11 more: fstui references"] * 2


def test_a_row_with_a_remark_is_marked() -> None:
    careful = replace(made(100)[0], note="judged too good to be true")
    section = references.comparison_table(Placement("fsync", 50.0, 4096, frozenset(), (careful,)))
    assert cell_text(section.rows[1][2]) == "disk 100* [1]"
    assert "* disk 100: judged too good to be true" in section.lines
    assert "all media" in section.title


def test_the_whole_library_names_every_device_and_source() -> None:
    page = as_text(references.references_report(library(), ()), width=80)
    assert max(map(len, page.splitlines())) <= 80
    assert all(reference.device[:20] in page for reference in library())
    assert "anarazel" in page and "Percona" in page


def test_the_result_shows_the_references() -> None:
    heading = "fdatasync: faster than 3 of 3 published rates for hdd-5400, hdd-7200"
    run = replace(RUN, verdict="consistent")
    for page in (run_as_text(run), run_as_text(run, "markdown")):
        assert heading in " ".join(page.split())
        assert "here, 4 KiB" in page
    assert len(find_published("fdatasync", ["hdd-5400", "hdd-7200"])) == 3


@pytest.mark.parametrize("verdict", ["not-durable", "suspicious"])
def test_a_run_that_is_not_trusted_is_not_compared(verdict: Verdict) -> None:
    assert references.run_references(replace(RUN, verdict=verdict)).empty
