"""The program that runs tools."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fstui.measure.children import command
from fstui.storage import claims
from fstui.storage.claims import Answer


def ask(*commands: list[str]) -> dict[str, dict[str, str]]:
    """Run the real program with real tools."""
    asked = json.dumps(commands)
    done = subprocess.run(
        command("measure.helpers.claims"), input=asked, capture_output=True, text=True, check=True, timeout=30
    )
    return answers_in(done.stdout)


def answers_in(printed: str) -> dict[str, dict[str, str]]:
    """Return the answers by command, without the line at the start."""
    begun, *lines = map(json.loads, printed.splitlines())
    assert begun == {}
    return {line.pop("command"): line for line in lines}


@pytest.mark.parametrize("line", [None, [], {}, {"command": 3}, {"command": "x", "output": 5}, "text"])
def test_malformed_answers_are_ignored(line: object) -> None:
    assert claims.decode(line) in ({}, {"3": Answer()})


def test_program_answers_every_command_and_runs_only_its_tools() -> None:
    answers = ask(["zpool", "no-such-action"], ["touch", "/tmp/x"], ["sh", "-c", "echo hello"])
    assert answers["touch /tmp/x"] == {"error": "fstui does not run touch"}
    assert answers["sh -c 'echo hello'"] == {"error": "fstui does not run sh"}
    assert set(answers["zpool no-such-action"]) == {"error"}


def test_nvme_is_asked_without_an_installed_tool() -> None:
    answers = ask(["nvme", "id-ctrl", "/dev/no-such", "-o", "json"], ["nvme", "get-feature", "/dev/null", "-f", "6"])
    assert answers["nvme id-ctrl /dev/no-such -o json"] == {"error": "No such file or directory"}
    assert answers["nvme get-feature /dev/null -f 6"] == {"error": "Inappropriate ioctl for device"}


def test_tool_that_hangs_delays_no_other_answer(tmp_path: Path) -> None:
    fake = tmp_path / "zpool"
    fake.write_text("#!/bin/sh\n[ $1 = hang ] && exec sleep 60\necho $1\n")
    fake.chmod(0o755)
    program = f"""
import fstui.measure.helpers.claims as claims
claims.PATH, claims.COMMAND_TIMEOUT_S = "{tmp_path}:/usr/bin:/bin", 0.3
claims.main()
"""
    asked = json.dumps([["zpool", "hang"], ["zpool", "answer"]])
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, input=asked, capture_output=True, text=True, check=True, timeout=30)
    assert answers_in(done.stdout) == {
        "zpool answer": {"output": "answer\n"},
        "zpool hang": {"error": "no answer for 0 s"},
    }


@pytest.mark.parametrize(("status", "answered"), [(0, True), (8 + 64, True), (2, False), (4 + 1, False)])
def test_smartctl_reports_the_disk_in_its_exit_status(tmp_path: Path, status: int, answered: bool) -> None:
    (tmp_path / "smartctl").write_text(f"#!/bin/sh\necho {{}}\nexit {status}\n")
    (tmp_path / "smartctl").chmod(0o755)
    program = f"import fstui.measure.helpers.claims as claims; claims.PATH = '{tmp_path}:/bin'; claims.main()"
    asked = json.dumps([["smartctl", "-a", "/dev/sda"]])
    done = subprocess.run([sys.executable, "-c", program], input=asked, capture_output=True, text=True, check=True)
    (answer,) = answers_in(done.stdout).values()
    assert ("output" in answer) is answered
