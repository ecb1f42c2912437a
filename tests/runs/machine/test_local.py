import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fstui.measure import children
from fstui.measure.children import call_in_child
from fstui.model.host import Inventory
from fstui.runs.machine import local
from fstui.runs.machine.local import LocalMachine
from fstui.state import runs
from fstui.storage import survey
from fstui.storage.tool_output import Command, ToolOutput, ToolOutputs, command_line
from tests.factories import saved_runs
from tests.factories.samples import RUN
from tests.factories.storage import disk

START = children.command


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Let fstui's programs start only when a line is written to this pipe."""
    path = tmp_path / "gate"
    os.mkfifo(path)

    def late(module: str, *arguments: str) -> list[str]:
        return ["sh", "-c", 'read line <"$0"; exec "$@"', str(path), *START(module, *arguments)]

    monkeypatch.setattr(children, "command", late)
    return os.open(path, os.O_RDWR)


@pytest.mark.parametrize(
    ("limit", "call", "answer"),
    [
        ("SILENCE_TIMEOUT_S", lambda: local.free_space(["/tmp"]), "/tmp"),
        ("TOOLS_TIMEOUT_S", lambda: local.run_tools((("touch", "x"),)), "touch x"),
    ],
)
async def test_the_start_of_a_program_does_not_count_as_silence(
    gate: int, monkeypatch: pytest.MonkeyPatch, limit: str, call: Callable[[], Coroutine[Any, Any, Any]], answer: str
) -> None:
    monkeypatch.setattr(local, limit, 0.5)
    called = asyncio.ensure_future(call())
    await asyncio.wait([called], timeout=0.6)
    os.write(gate, b"begin\n")
    answers = await called
    assert list(answers) == [answer]
    assert limit == "SILENCE_TIMEOUT_S" or answers[answer].error == "fstui does not run touch"
    os.close(gate)


async def test_no_filesystem_is_silent_while_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = '{"mount_point": %s, "total_bytes": 2, "free_bytes": 1}\\n'
    slow = f"echo; while read place; do sleep 0.4; printf '{answer}' \"$place\"; done"
    monkeypatch.setattr(children, "command", lambda *_: ["sh", "-c", slow])
    places = [f"/mnt/{number}" for number in range(4)]
    assert list(await local.free_space(places)) == places


async def test_a_cancelled_call_abandons_its_child_at_once(
    gate: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when its object is collected: then the loop may be closed, and the pipes cannot be closed any more."""
    abandon, abandoned = children.Child.abandon, asyncio.Event()

    def noted(child: children.Child) -> None:
        abandoned.set()
        abandon(child)

    monkeypatch.setattr(children.Child, "abandon", noted)
    call = asyncio.ensure_future(local.free_space([str(tmp_path)]))
    await asyncio.wait([call], timeout=0.5)  # the program has not started
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert abandoned.is_set()
    os.close(gate)


async def test_tools_run_once_if_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Command, ...]] = []
    command = ("dmsetup", "table")

    async def tools(commands: tuple[Command, ...]) -> ToolOutputs:
        calls.append(commands)
        return {command_line(command): ToolOutput() for command in commands}

    def surveyed(*, tool_outputs: ToolOutputs) -> Inventory:
        return Inventory(unused=tuple(disk(name) for name in tool_outputs))

    monkeypatch.setattr(local, "run_tools", tools)
    monkeypatch.setattr(survey, "survey", surveyed)
    monkeypatch.setattr(survey, "commands", lambda _: (command,))
    machine = LocalMachine()
    found = await machine.with_space(machine.survey())
    assert [node.id for node in found.unused] == [command_line(command)]
    await machine.with_space(found)
    assert calls == [(command,)]


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_run_is_saved_if_the_first_child_is_killed(monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    called: list[object] = []

    async def killed(function: Any, *arguments: Any, **how: Any) -> None:
        called.append(function)
        if len(called) <= deaths:
            raise ChildProcessError(10, "the child process was killed")
        await call_in_child(function, *arguments, **how)

    monkeypatch.setattr(local, "call_in_child", killed)
    path, error = await LocalMachine().save(RUN)
    assert len(called) == 2
    if deaths == 1:
        assert (path, error) == (str(runs.path_of(RUN)), None) and saved_runs.load(RUN.id) == RUN
    else:
        assert (path, error) == (None, f"the run could not be saved: {runs.path_of(RUN)}: the child process was killed")
