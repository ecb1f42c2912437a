"""``fstui check`` without a terminal, on the storage of the test machine: streams, exit codes and amounts."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fstui.cli.host import leave_out_busy
from fstui.measure.kinds.documents import decode_run
from fstui.runs.checking import Checkup
from fstui.runs.session import Session
from tests.cli.conftest import Fstui, nothing_left
from tests.factories import saved_runs
from tests.real import headless

CHECK = ("check", "--yes")


def test_each_check_is_saved_within_its_limits(fstui: Fstui, target: Path) -> None:
    done = fstui(*CHECK, str(target), "--format", "json")
    assert done.returncode == 0, done.stderr
    (document,) = json.loads(done.stdout)["runs"]
    run = decode_run(json.dumps(document))
    assert saved_runs.load("last") == run
    assert run.scenario is not None and run.scenario.name == "check"
    longest_s = sum(step.latency_ns.max / 1e9 for step in run.steps if step.latency_ns)
    assert sum(step.elapsed_s for step in run.steps) <= 2.0 + longest_s
    assert run.written_bytes <= 7_000_000
    assert all(step.syncs <= 500 for step in run.steps)
    assert run.scenario.settings["syncs"] == 500, "as in the app, so that both form one trend"
    assert run.idle is not None and run.idle.elapsed_s >= 1.0
    assert nothing_left(target)


@pytest.mark.parametrize("unsuitable", ["/nowhere", "/proc"])
def test_an_unsuitable_directory_is_refused_before_the_others(fstui: Fstui, target: Path, unsuitable: str) -> None:
    done = fstui(*CHECK, str(target), unsuitable)
    assert done.returncode == 2
    assert unsuitable.encode() in done.stderr and nothing_left(target)


def test_ctrl_c_prints_results_and_removes_files(target: Path) -> None:
    process = headless.start(*CHECK, target, "--format", "events")
    assert process.stdout
    while json.loads(process.stdout.readline())["event"] != "StepStarted":
        pass
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out.splitlines()[-1])["event"] == "RunFinished"
    assert nothing_left(target)


def test_a_busy_device_is_left_out_without_a_terminal(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    monkeypatch.delenv("FSTUI_YES")
    session = Session.local(trace=False)
    checkup = Checkup(session, [str(target)])
    asyncio.run(checkup.find_filesystems())
    (subject,) = checkup.subjects
    checkup.subjects = [subject._replace(concerns=("its device sda is 97\xa0% busy",))]
    leave_out_busy(checkup, yes=True)
    assert len(checkup.subjects) == 1
    leave_out_busy(checkup, yes=False)
    assert checkup.subjects == []
    assert "97\xa0% busy" in checkup.skipped[0].reason


ASKING = """
import asyncio, os, sys
os.environ.pop("FSTUI_YES")
from fstui.cli.host import leave_out_busy
from fstui.runs.session import Session
from fstui.runs.checking import Checkup

checkup = Checkup(Session.local(trace=False), [sys.argv[1]])
asyncio.run(checkup.find_filesystems())
checkup.subjects = [checkup.subjects[0]._replace(concerns=("its device sda is 97\xa0% busy",))]
leave_out_busy(checkup, yes=False)
print(len(checkup.subjects), "to check")
"""


@pytest.mark.parametrize(("answer", "said"), [(b"y\n", b"1 to check"), (b"\n", b"0 to check")])
def test_a_terminal_is_asked_about_a_busy_device(target: Path, answer: bytes, said: bytes) -> None:
    master, terminal = os.openpty()
    with os.fdopen(master, "r+b", buffering=0) as hands:
        words = [sys.executable, "-c", ASKING, str(target)]
        process = subprocess.Popen(words, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        hands.write(answer)
        out, _ = process.communicate(timeout=60)
        assert "97\xa0% busy. Check it anyway?".encode() in hands.read(4096)
    assert out.strip() == said
