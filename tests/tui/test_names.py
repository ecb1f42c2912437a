"""Names of steps that are too long for their column."""

from __future__ import annotations

import pytest

from fstui.runs import scenarios
from fstui.tui.drawing import result, run
from fstui.tui.drawing.cells import distinct, shown

WIDTHS = sorted({shown(result.STEPS, 80 - 4)[0].width, shown(run.STEPS, 80 - 5)[0].width})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"flush_method": "fsync,O_DSYNC,O_DIRECT,O_DIRECT_NO_FSYNC"},
        {"flush_method": "O_DSYNC,O_DIRECT", "doublewrite": "true,false", "threads": "1,4,16,64"},
        {"server": "postgresql", "wal_sync_method": "fdatasync,fsync,open_datasync,open_sync", "threads": "1,16"},
    ],
)
def test_shortened_names_of_a_matrix_differ(settings: dict[str, str], width: int) -> None:
    names = [step.name for step in scenarios.expand(scenarios.load("sysbench-oltp"), settings)[1]]
    cut = distinct(names, width)
    assert len(set(cut)) == len(names)
    assert all(len(name) <= width for name in cut)


def test_only_long_names_are_shortened_to_their_differences() -> None:
    names = ["fdatasync", "oltp_read_write mariadb high", "oltp_read_only mariadb high", "oltp_insert mariadb low"]
    assert [name.strip() for name in distinct(names, 18)] == [
        "fdatasync",
        "…write",
        "…only",
        "oltp_inse…iadb low",
    ]


def test_equal_names_get_numbers() -> None:
    assert [name.strip() for name in distinct(["fsync", "fsync"], 18)] == ["1 fsync", "2 fsync"]
