"""The rows of a fleet while its boxes are asked."""

from collections import Counter
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from fstui.cli.fleet_screen import _table
from fstui.fleet.asked import Asked
from fstui.fleet.campaign import Campaign, State
from tests.fleet.test_oddities import box


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Three boxes: one in trouble, one that has answered, one that runs."""
    made = Campaign(Asked(command="run"), ("db1", "db2", "db3"), tmp_path, None, lambda: None)
    made.boxes = [replace(box("db2"), rates=box("db2", 812.0).rates)]
    made.states["db1"] = State("trouble", 0.0, "no way to it \x1b[2J")
    made.states["db2"] = State("done", 0.0)
    made.states["db3"] = State("running", 0.0)
    return made


def drawn(campaign: Campaign, lines: int) -> list[str]:
    phases = Counter(state.phase for state in campaign.states.values())
    text = StringIO()
    Console(file=text, width=80).print(_table(campaign, phases, lines))
    return text.getvalue().splitlines()


def test_who_is_in_trouble_stands_first_and_commands_no_terminal(campaign: Campaign) -> None:
    rows = drawn(campaign, 10)
    assert [row.split()[1] if row[0] != " " else row.split()[0] for row in rows[2:]] == ["db1", "db3", "db2"]
    assert "\x1b" not in "".join(rows)
    assert rows[-1].split()[-3:-1] == ["812", "2.0"]


def test_no_more_rows_than_there_is_room_for(campaign: Campaign) -> None:
    for number in range(100):
        campaign.states[f"more{number}"] = State("waiting", 0.0)
    assert len(drawn(campaign, 20)) == 22
