"""Gathered directories as an SQLite database, asked with SQLite's own words."""

import sqlite3
from pathlib import Path

import pytest

from fstui.fleet import database, gathered
from fstui.fleet.gathered import About
from fstui.model.errors import Refused
from fstui.report.json import line
from tests.factories.samples import nasty
from tests.fleet.conftest import HONEST


def fleet(place: Path, **documents: bytes) -> Path:
    gathered.make(place)
    for node, document in documents.items():
        gathered.keep(place, node, document)
    nodes = (*documents, "db9")
    gathered.conclude(place, About(command="run", nodes=nodes, troubles={"db9": "nothing listens there"}))
    return place


def test_two_fleets_are_asked_at_once(tmp_path: Path) -> None:
    places = [fleet(tmp_path / "before", db1=HONEST), fleet(tmp_path / "after", db1=HONEST, db2=line(nasty()))]
    assert database.export(places, tmp_path / "all.sqlite") == 5
    ask = sqlite3.connect(tmp_path / "all.sqlite").execute
    honest = ("db1", "consistent", None)
    rows = ask("SELECT box, verdict, trouble FROM boxes WHERE directory LIKE '%before' ORDER BY box").fetchall()
    assert rows == [honest, ("db9", None, "nothing listens there")]
    (least,) = ask("SELECT min(per_s) FROM steps JOIN boxes ON boxes.id = steps.box WHERE boxes.box = 'db1'").fetchone()
    assert least > 0
    assert ask("SELECT count(DISTINCT box) FROM facts WHERE fact = 'ext4 barrier'").fetchone() == (2,)


def test_what_is_there_already_is_not_touched_and_what_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(Refused, match="File exists; name a new file"):
        database.export([fleet(tmp_path / "out")], tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    with pytest.raises(Refused):
        database.export([tmp_path / "none"], tmp_path / "new")
    assert not (tmp_path / "new").exists()
