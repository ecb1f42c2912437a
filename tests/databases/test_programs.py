"""Outside programs, run to their end: real ones."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from fstui.databases import programs
from fstui.databases.programs import find_sysbench, output_of
from fstui.databases.throwaway import within
from fstui.model.errors import Refused
from fstui.state.workspace import HeldDirectory
from tests.real.processes import all_end, descendants, eventually


async def test_a_tool_says_its_status_and_both_its_streams() -> None:
    assert await output_of("/bin/sh", "-c", "cat; echo wrong >&2; exit 3", stdin="heard\n") == (3, "heard\nwrong\n")


async def test_it_can_read_its_stdin_as_a_file_and_sees_its_environment() -> None:
    said = await output_of("/bin/sh", "-c", "cat /dev/stdin; echo $WORD", stdin="secret ", environment={"WORD": "x"})
    assert said == (0, "secret x\n")


async def test_a_signal_is_a_status_and_bytes_that_are_no_text_are_shown() -> None:
    assert await output_of("/bin/sh", "-c", "printf '\\377'; kill -9 $$") == (-9, "\ufffd")


async def test_a_tool_that_is_gone_meanwhile_is_an_error_with_its_name() -> None:
    with pytest.raises(FileNotFoundError) as error:
        await output_of("/nowhere/sysbench")
    assert error.value.filename == "/nowhere/sysbench"


async def test_one_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "ANSWER_S", 0.5)
    assert await output_of("/bin/sleep", "1000") == (-1, "FATAL: no answer for 0 s")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo sysbench 0.4.12", "sysbench 0.4.12 (.*) is too old"),
        ("exec sleep 1000", "does not print its version: FATAL: no answer for"),
        ("exit 1", "does not print its version: nothing"),
    ],
)
async def test_a_sysbench_is_refused_by_what_it_said(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "sysbench"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(programs, "ANSWER_S", 2.0)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Refused, match=said):
        await find_sysbench()


async def test_one_of_the_run_s_directory_runs_there_and_in_no_other(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours; exit", tmp_path / "theirs"
    ours.mkdir()
    shell, *words = within(HeldDirectory.of(ours))
    assert await output_of(shell, *words, "pwd") == (0, f"{ours}\n")
    ours.rename(tmp_path / "away")
    ours.mkdir()
    assert await output_of(shell, *words, "pwd") == (
        1,
        f"FATAL: {ours}: another directory has taken its place\n",
    )
    ours.rmdir()
    ours.symlink_to(theirs)
    status, text = await output_of(shell, *words, "pwd")
    assert status == 1 and "FATAL" in text


async def test_one_that_nobody_waits_for_is_ended_with_what_it_started() -> None:
    asking = asyncio.ensure_future(output_of("/bin/sh", "-c", "sleep 1000; :"))
    assert await asyncio.to_thread(eventually, lambda: len(descendants(os.getpid())) == 2)
    family = descendants(os.getpid())
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert all_end(family)
