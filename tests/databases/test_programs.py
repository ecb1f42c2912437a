"""Run real outside programs."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from fstui.databases import programs
from fstui.databases.programs import find_sysbench, output_of
from fstui.measure.children import call_in_child
from fstui.model.errors import Refused
from tests.real.processes import all_end, descendants, eventually


def test_output_contains_status_and_both_streams() -> None:
    assert output_of("/bin/sh", "-c", "cat; echo right; echo wrong >&2; exit 3") == (3, "right\nwrong\n")


def test_signal_is_a_status_and_invalid_text_is_replaced() -> None:
    assert output_of("/bin/sh", "-c", "printf '\\377'; kill -9 $$") == (-9, "\ufffd")


def test_tool_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TOOL_TIMEOUT_S", 0.5)
    assert output_of("/bin/sleep", "1000") == (-1, "FATAL: no answer for 0 s")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo sysbench 0.4.12", "sysbench 0.4.12 (.*) is too old"),
        ("exec sleep 1000", "does not print its version: FATAL: no answer for"),
        ("exit 1", "does not print its version: nothing"),
    ],
)
def test_sysbench_is_refused_by_its_version(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_sysbench(tmp_path, script, monkeypatch)
    monkeypatch.setattr(programs, "TOOL_TIMEOUT_S", 2.0)
    with pytest.raises(Refused, match=said):
        programs._find_sysbench()


def install_sysbench(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = directory / "sysbench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(directory), prepend=":")


async def test_cancelled_tool_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_sysbench(tmp_path, "sleep 1000; :", monkeypatch)
    others = set(descendants(os.getpid()))
    asking = asyncio.ensure_future(find_sysbench())
    assert await asyncio.to_thread(eventually, lambda: len({*descendants(os.getpid())} - others) == 3)
    family = set(descendants(os.getpid())) - others
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert all_end(family)


def short_output_of(script: str) -> tuple[int, str]:
    programs.TOOL_TIMEOUT_S = 0.5
    return output_of("/bin/sh", "-c", script)


@pytest.mark.parametrize("script", ["{}; :", "{} >/dev/null 2>&1 & until [ -e pid ]; do :; done"])
async def test_no_child_of_a_tool_is_left(script: str, tmp_path: Path) -> None:
    script = f"cd {tmp_path}; {script.format('(sh sleeper)')}"
    (tmp_path / "sleeper").write_text("echo $$ > new; mv new pid; exec sleep 1000")
    status, _ = await call_in_child(short_output_of, script, where="a tool")
    assert status == (0 if "until" in script else -1)
    pid = int((tmp_path / "pid").read_text())
    assert eventually(lambda: not psutil.pid_exists(pid))
