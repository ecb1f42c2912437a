"""The program that runs tools."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fstui.measure.children import command
from fstui.storage import tool_output
from fstui.storage.tool_output import ToolOutput


def ask(*commands: list[str], program: list[str] | None = None) -> dict[str, dict[str, str]]:
    """Return the answers of the real program, with real tools, by command."""
    call = program or command("measure.helpers.tool_output")
    done = subprocess.run(call, input=json.dumps(commands), capture_output=True, text=True, check=True, timeout=30)
    begun, *lines = map(json.loads, done.stdout.splitlines())
    assert begun == {}
    return {line.pop("command"): line for line in lines}


def ask_made_up(place: Path, script: str, *commands: list[str], timeout_s: float = 30.0) -> dict[str, dict[str, str]]:
    """Return the answers with a made-up tool."""
    tool = place / commands[0][0]
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    program = "import fstui.measure.helpers.tool_output as helper\n"
    program += f"helper.PATH, helper.COMMAND_TIMEOUT_S = '{place}:/usr/bin:/bin', {timeout_s}\nhelper.main()"
    return ask(*commands, program=[sys.executable, "-c", program])


@pytest.mark.parametrize("line", [None, [], {}, {"command": 3}, {"command": "x", "output": 5}, "text"])
def test_malformed_answers_are_ignored(line: object) -> None:
    assert tool_output.decode(line) in ({}, {"3": ToolOutput()})


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
    script = "[ $1 = hang ] && exec sleep 60\necho $1"
    assert ask_made_up(tmp_path, script, ["zpool", "hang"], ["zpool", "answer"], timeout_s=0.3) == {
        "zpool answer": {"output": "answer\n"},
        "zpool hang": {"error": "no answer for 0 s"},
    }


@pytest.mark.parametrize(("status", "answered"), [(0, True), (8 + 64, True), (2, False), (4 + 1, False)])
def test_smartctl_reports_the_disk_in_its_exit_status(tmp_path: Path, status: int, answered: bool) -> None:
    (answer,) = ask_made_up(tmp_path, f"echo {{}}\nexit {status}", ["smartctl", "-a", "/dev/sda"]).values()
    assert ("output" in answer) is answered
