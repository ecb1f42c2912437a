"""Run real outside programs."""

import asyncio
import os
from pathlib import Path

import pytest

from fstui.databases import programs
from fstui.databases.programs import find_sysbench, output_of
from fstui.model.errors import Refused
from tests.real.processes import all_end, descendants, eventually


async def test_output_contains_status_and_both_streams() -> None:
    assert await output_of("/bin/sh", "-c", "cat; echo right; echo wrong >&2; exit 3") == (3, "right\nwrong\n")


async def test_signal_is_a_status_and_invalid_text_is_replaced() -> None:
    assert await output_of("/bin/sh", "-c", "printf '\\377'; kill -9 $$") == (-9, "\ufffd")


async def test_missing_tool_is_an_error_with_its_name() -> None:
    with pytest.raises(FileNotFoundError) as error:
        await output_of("/nowhere/sysbench")
    assert error.value.filename == "/nowhere/sysbench"


async def test_tool_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TOOL_TIMEOUT_S", 0.5)
    assert await output_of("/bin/sleep", "1000") == (-1, "FATAL: no answer for 0 s")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo sysbench 0.4.12", "sysbench 0.4.12 (.*) is too old"),
        ("exec sleep 1000", "does not print its version: FATAL: no answer for"),
        ("exit 1", "does not print its version: nothing"),
    ],
)
async def test_sysbench_is_refused_by_its_version(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sysbench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(programs, "TOOL_TIMEOUT_S", 2.0)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Refused, match=said):
        await find_sysbench()


async def test_cancelled_tool_is_killed_with_its_children() -> None:
    others = set(descendants(os.getpid()))
    asking = asyncio.ensure_future(output_of("/bin/sh", "-c", "sleep 1000; :"))
    assert await asyncio.to_thread(eventually, lambda: len({*descendants(os.getpid())} - others) == 2)
    family = set(descendants(os.getpid())) - others
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert all_end(family)
