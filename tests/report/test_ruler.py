from itertools import pairwise

import pytest
from msgspec.structs import replace

from fstui.judge.references import Placement, Reference, library, published
from fstui.report import ruler
from tests.factories.samples import RUN
from tests.hostile import everywhere
from tests.printing import printed, printed_run


def made(*rates: float) -> tuple[Reference, ...]:
    return tuple(
        Reference(device=f"disk {rate:g}", medium="ssd", operation="fsync", per_s=rate, source="a page")
        for rate in rates
    )


def placement(per_s: float, *rates: float) -> Placement:
    return Placement("fsync", per_s, 16384, frozenset({"ssd"}), made(*rates))


def test_a_rate_is_drawn_between_its_neighbours() -> None:
    assert ruler.lines(placement(1000, 100, 10_000)) == [
        "fsync: faster than 1 of 2 published rates for ssd",
        "                                           100               1 k            10 k",
        "  disk 100                        100 [1]  ●",
        "▸ here, 16 KiB                  1\xa0000      ··················◆",
        "  disk 10000                   10\xa0000 [1]  ····································●",
        "  [1]  a page",
    ]


def test_a_rate_below_all_published_rates() -> None:
    assert ruler.lines(placement(50, 100, 10_000))[0] == "fsync: slower than the slowest of 2 published rates for ssd"


@pytest.mark.parametrize("per_s", [0.02, 13, 999, 601_015, 90_000_000])
def test_any_rate_fits_the_line(per_s: float) -> None:
    for width in (50, 80, 120):
        lines = ruler.lines(placement(per_s, 500, 2000), width)
        assert max(map(len, lines)) <= width


def test_decades_are_equally_far_apart() -> None:
    header = ruler.lines(placement(100_000, 10))[1]
    assert header.split() == ["10", "100", "1", "k", "10", "k", "100", "k"]
    starts = [header.index(name) for name in ("10 ", "100 ", "1 k", "10 k")]
    assert {after - before for before, after in pairwise(starts)} in ({9}, {8, 9}, {9, 10})


def test_only_the_ends_and_the_nearest_of_many_are_drawn() -> None:
    rates = [float(rate) for rate in range(100, 3100, 100)]
    lines = ruler.lines(placement(1550, *rates))
    names = [line[2:12].strip() for line in lines[2:]]
    assert names[:9] == [
        "disk 100", "disk 1300", "disk 1400", "disk 1500", "here, 16 K",
        "disk 1600", "disk 1700", "disk 1800", "disk 3000",
    ]  # fmt: skip
    assert "  and 22 more: fstui references" in lines


def test_a_row_with_a_remark_is_marked() -> None:
    careful = replace(made(100)[0], note="judged too good to be true")
    lines = ruler.lines(Placement("fsync", 50.0, 4096, frozenset(), (careful,)))
    assert any(line.startswith("  disk 100*") for line in lines)
    assert "  * disk 100: judged too good to be true" in lines
    assert "all media" in lines[0]


def test_the_whole_library_names_every_device_and_source() -> None:
    text = printed(ruler.of_library(library(), ()))
    assert max(map(len, text.splitlines())) <= 80
    assert all(reference.device[:20] in text for reference in library())
    assert "anarazel" in text and "Percona" in text


def test_the_result_shows_the_ruler() -> None:
    heading = "fdatasync: faster than 3 of 3 published rates for hdd-5400, hdd-7200"
    for text in (printed_run(RUN), printed_run(RUN, "markdown")):
        assert heading in " ".join(text.split())
        assert "here, 4 KiB" in text
    assert len(published("fdatasync", ["hdd-5400", "hdd-7200"])) == 3


def test_a_run_whose_syncs_are_not_durable_is_not_compared() -> None:
    assert ruler.of_run(replace(RUN, verdict="not-durable")) == []


def test_the_ruler_contains_no_names_from_the_system() -> None:
    assert all(line.replace("\xa0", " ").isprintable() for line in ruler.of_run(everywhere(RUN)))
