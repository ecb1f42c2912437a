from typing import Any

import msgspec
import pytest
from rich.text import Text

from fstui.runs import scenarios
from fstui.tui.drawing import cells, result, run, storage
from fstui.tui.drawing.cells import draw_frame, fit_columns, fit_list, rule, selectable_row, tell_apart, window
from fstui.tui.screens.storage import StorageScreen
from fstui.tui.styles import AREA, FAINT
from tests.factories import screens
from tests.tui.conftest import PreparedApp

WIDTHS = sorted({fit_columns(result.STEPS, 80 - 4)[0].width, fit_columns(run.STEPS, 80 - 5)[0].width})


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
def test_no_two_steps_of_a_matrix_read_alike(settings: dict[str, str], width: int) -> None:
    names = [step.name for step in scenarios.expand(scenarios.load("sysbench-oltp"), settings)[1]]
    cut = tell_apart(names, width)
    assert len(set(cut)) == len(names)
    assert all(len(name) <= width for name in cut)


def test_long_names_show_their_differences() -> None:
    names = ["fdatasync", "oltp_read_write mariadb high", "oltp_read_only mariadb high", "oltp_insert mariadb low"]
    assert [name.strip() for name in tell_apart(names, 18)] == ["fdatasync", "…write", "…only", "oltp_inse…iadb low"]


def test_equal_names_are_numbered() -> None:
    assert [name.strip() for name in tell_apart(["fsync", "fsync"], 18)] == ["1 fsync", "2 fsync"]


@pytest.mark.parametrize(
    ("selected", "height", "expected"),
    [
        (0, 10, [*"0123456789"]),
        (9, 11, [*"0123456789"]),
        (0, 3, ["0", "1", "   … 8 more"]),
        (5, 3, ["4", "5", "   … 4 more"]),
        (7, 9, [*"01234567", "   … 2 more"]),
        (9, 9, [*"123456789"]),
        (9, 3, ["7", "8", "9"]),
        (5, 1, ["0"]),
    ],
)
def test_the_selected_row_is_among_those_that_fit(selected: int, height: int, expected: list[str]) -> None:
    assert [text.plain for text in window(10, lambda at: Text(str(at)), selected, height)] == expected


async def test_a_key_draws_only_the_shown_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    async with PreparedApp().run_test(size=(80, 24)) as pilot:
        screen = pilot.app.screen
        assert isinstance(screen, StorageScreen)
        one = screens.INVENTORY.filesystems[0]
        many = [msgspec.structs.replace(one, mount_point=f"/{number}") for number in range(5000)]
        screen.rows = [storage.StorageEntry(target) for target in many]
        drawn = []
        draw = storage._row

        def counted(entry: storage.StorageEntry, *how: Any, **more: Any) -> Text:
            drawn.append(entry.name)
            return draw(entry, *how, **more)

        monkeypatch.setattr(storage, "_row", counted)
        screen.action_move(3000)
        assert "/3000" in drawn and len(drawn) < 100


def test_frame_around_the_selected_row_has_a_colour() -> None:
    top, row = rule(8, "a"), selectable_row([("b", "")], selected=True)
    for lines, style in (([top, row], AREA), ([top], FAINT)):
        spans = [span for text in draw_frame(lines, 10, 4) for span in text.spans if span.style in (AREA, FAINT)]
        assert {span.style for span in spans} == {style}


@pytest.mark.parametrize(("width", "cut"), [
    (20, "a 1, b 22, c 333"), (15, "a 1, b 22"), (8, "a 1"), (2, "a…"),
])  # fmt: skip
def test_a_list_is_cut_between_its_parts(width: int, cut: str) -> None:
    assert fit_list("a 1, b 22, c 333", width) == cut


@pytest.mark.parametrize(("width", "where"), [
    (60, "/srv/data · ext4 › sda"), (39, "/srv/data"), (36, ""),
])  # fmt: skip
def test_title_loses_the_last_parts_of_the_place(width: int, where: str) -> None:
    plain = cells.title_line("plan", "/srv/data · ext4 › sda", "922 G free", width).plain
    assert plain.rstrip() == f" fstui  plan   {where}".ljust(width - 11) + "922 G free"


def test_a_label_is_drawn_once() -> None:
    evidence = ("writer: a program that wrote much", "writer: b", "while idle")
    assert [text.plain.rstrip() for text in cells.labelled_lines("because", evidence, 41)] == [
        "   because  writer  a program that wrote",
        "                    much",
        "                    b",
        "            while idle",
    ]


def test_a_number_and_its_unit_are_not_split() -> None:
    texts = cells.paragraph("oldest 4.0 s, 3.98 writes/s, 16 KiB, 12 programs", 20)
    assert [text.plain.strip() for text in texts] == ["oldest 4.0 s,", "3.98 writes/s,", "16 KiB, 12", "programs"]


def test_a_terminal_of_three_columns_has_a_column() -> None:
    (step,) = fit_columns((cells.Column("STEP"), cells.Column("P50", from_width=9)), -2)
    assert step.title == "STEP"
