"""A real sshd and real storage with known faults."""

import json
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.fleet.hosts import DROPS, FSTUI, NO_PYTHON, Hosts, HostSetup, hanging_mount, hosts, pyz_file, release
from tests.real import disks
from tests.real.conftest import workshop  # noqa: F401  a fixture
from tests.real.headless import scenario_file
from tests.real.processes import eventually

pytestmark = [pytest.mark.root, pytest.mark.slow]


def test_each_host_gets_its_verdict_and_is_clean(workshop: Path) -> None:  # noqa: F811
    with ExitStack() as down:
        places = {}
        for name, options in {"honest": "", "liar": "barrier=0"}.items():
            (workshop / name).mkdir()
            places[name] = down.enter_context(disks.on_loop(workshop / name, options=options)).directory
        made = {
            "db1": HostSetup(places["honest"], banner="Authorised use only"),
            "db2": HostSetup(places["liar"]),
            "db3": HostSetup(setup=hanging_mount(workshop)),
            "db4": HostSetup(setup=NO_PYTHON),
            "db5": HostSetup(places["honest"], setup=f"mount -o remount,bind,ro {workshop}/target"),
            "db6": HostSetup(places["honest"], forced=DROPS),
        }
        up = down.enter_context(hosts(workshop, made))
        down.callback(release, workshop, up)
        arguments = ("run", str(scenario_file(workshop)), str(up.target), "--nodes", "db[1-6]", "--trust-dir")
        carry = ("--pyz", str(pyz_file(workshop)), "--place", f"{workshop}/private/place", "--remove")
        done = up.fleet(*arguments, *carry, "--into", f"{workshop}/out")
        assert done.returncode == 1, done.stderr
        shown = subprocess.run(
            [FSTUI, "fleet", "show", workshop / "out", "--format", "json"], capture_output=True, check=False
        )
        said = json.loads(shown.stdout)
        assert {box["node"]: box["verdict"] for box in said["hosts"]} == {"db1": "consistent", "db2": "not-durable"}
        words = {
            "db3": "its disk or server may hang",
            "db4": "there is no Python 3.11 or newer",
            "db5": "read-only filesystem",
            "db6": "the connection broke while it ran",
        }
        troubles = said["about"]["troubles"]
        assert {name: words[name] in troubles[name] for name in troubles} == dict.fromkeys(words, True), troubles
        (worse,) = said["worse"]
        assert worse["host"] == "db2"
        assert "not-durable (high), the median of all hosts is consistent" in worse["sentence"]
        assert eventually(lambda: not any(map(up.left, up.names))), [up.left(name) for name in up.names]
        assert [path for place in places.values() for path in place.glob(".fstui-*")] == []


def long_run(workshop: Path, up: Hosts) -> tuple[str, ...]:  # noqa: F811
    scenario = str(scenario_file(workshop, "fdatasync"))
    words = ("run", scenario, str(up.target), "--set", "seconds=60", "--nodes", "db1", "--trust-dir")
    return *words, "--installed", FSTUI, "--into", f"{workshop}/out"


def test_a_run_over_the_time_limit_is_ended(workshop: Path) -> None:  # noqa: F811
    with disks.on_loop(workshop) as storage, hosts(workshop, {"db1": HostSetup(storage.directory)}) as up:
        done = up.fleet(*long_run(workshop, up), "--timeout", "10")
        assert done.returncode == 1
        assert "db1: not finished within" in done.stdout and "the run there was stopped" in done.stdout
        assert eventually(lambda: not up.left("db1"))
        assert eventually(lambda: not list(storage.directory.glob(".fstui-*")))


def test_ctrl_c_ends_a_run_on_a_host(workshop: Path) -> None:  # noqa: F811
    with disks.on_loop(workshop) as storage, hosts(workshop, {"db1": HostSetup(storage.directory)}) as up:
        process = up.begun(*long_run(workshop, up))
        assert eventually(lambda: any(storage.directory.glob(".fstui-*/*")), 60)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 130
        assert "1 of 1 host answered" in out and " · stopped " in out
        assert list(storage.directory.glob(".fstui-*")) == []
        assert eventually(lambda: not up.left("db1"))
