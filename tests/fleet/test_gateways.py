"""By way of which gateways a box is reached: a topology file, and real sshd in networks that have no other way."""

import json
import socket
from pathlib import Path

import pytest

from fstui.fleet.gateways import hops_to
from fstui.model.errors import Refused
from tests.fleet.boxes import Made, boxes
from tests.fleet.conftest import HONEST, program
from tests.real.conftest import workshop  # noqa: F401  a fixture
from tests.real.processes import eventually

HERE = socket.gethostname().partition(".")[0]


def topology(place: Path, *routes: str) -> Path:
    (place / "topology.conf").write_text("\n".join(["[routes]", *routes]))
    return place / "topology.conf"


def test_a_tree_leads_to_each_box_by_one_way_in_turns(tmp_path: Path) -> None:
    file = topology(tmp_path, f"{HERE}: door", "door: gw[1-2]", "gw[1-2]: db[1-4]")
    assert hops_to(["db1", "db2", "db3", "gw2", "elsewhere"], None, file) == {
        "db1": ("door", "gw1"),
        "db2": ("door", "gw2"),
        "db3": ("door", "gw1"),
        "gw2": ("door",),
    }


@pytest.mark.parametrize("routes", [("another: gw1",), (f"{HERE}: gw[1-",), (f"{HERE}: -oX", "-oX: db1"), ("", "[[")])
def test_a_file_that_leads_nowhere_is_refused_in_a_sentence(tmp_path: Path, routes: tuple[str, ...]) -> None:
    with pytest.raises(Refused):
        hops_to(["db1"], None, topology(tmp_path, *routes))
    with pytest.raises(Refused, match="No such file"):
        hops_to(["db1"], None, tmp_path / "none")


@pytest.mark.root
@pytest.mark.slow
def test_boxes_behind_gateways_are_reached_and_one_that_is_shut_is_named(workshop: Path) -> None:  # noqa: F811
    (workshop / "honest.json").write_bytes(HONEST.strip() + b"\n")
    there = program(workshop / "there", f"#!/bin/sh\ncat {workshop}/honest.json\n")
    made = {
        "door": Made(),
        "gw1": Made(behind="door"),
        "db1": Made(behind="gw1"),
        "db2": Made(behind="gw1"),
        "strict": Made(forwards=False),
    }
    routes = (f"{HERE}: door,strict,away", "door: gw1", "gw1: db[1-3]", "strict: db4", "away: db5")
    asked = ("run", "fsync-rate", "/", "--installed", str(there), "--format", "json")
    with boxes(workshop, made) as up:
        into = ("--into", f"{workshop}/out")
        done = up.fleet(*asked, *into, "--nodes", "db[1-5]", "--topology", str(topology(workshop, *routes)))
        said = json.loads(done.stdout)
        assert sorted(box["node"] for box in said["boxes"]) == ["db1", "db2"], done.stdout
        words = {
            "db3": "its gateway does not get there",
            "db4": "its gateway does not get there",
            "db5": "its gateway away: its name is not known here",
        }
        troubles = said["about"]["troubles"]
        assert {name: words[name] in troubles[name] for name in troubles} == dict.fromkeys(words, True), troubles
        assert not [path for path in (workshop / "out").iterdir() if path.suffix != ".json"]
        door = workshop / "door.log"
        assert eventually(lambda: "Disconnected from user" in door.read_text())
        assert door.read_text().count("Accepted publickey") == 1  # for all that is behind it
