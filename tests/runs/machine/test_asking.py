"""What a child is asked because it may hang, and how long it has."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from fstui.measure import children
from fstui.model.host import Inventory
from fstui.runs.machine import asking
from fstui.runs.machine.local import LocalMachine
from fstui.storage import survey
from fstui.storage.claims import Answer, Claims, Command, line
from tests.factories.storage import disk

START = children.command


@pytest.fixture
def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Programs of ours begin when a line is written there."""
    path = tmp_path / "gate"
    os.mkfifo(path)

    def late(module: str, *arguments: str) -> list[str]:
        return ["sh", "-c", 'read line <"$0"; exec "$@"', str(path), *START(module, *arguments)]

    monkeypatch.setattr(children, "command", late)
    return os.open(path, os.O_RDWR)


async def test_the_time_that_a_program_takes_to_begin_is_not_the_storages(
    gate: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "SILENT_S", 0.5)
    asked = asyncio.ensure_future(asking.free_space([str(tmp_path)]))
    await asyncio.wait([asked], timeout=asking.SILENT_S + 0.1)
    os.write(gate, b"begin\n")
    assert list(await asked) == [str(tmp_path)]
    os.close(gate)


async def test_nor_is_it_the_tools(gate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "TOOLS_S", 0.5)
    asked = asyncio.ensure_future(asking.tools((("touch", "x"),)))
    await asyncio.wait([asked], timeout=asking.TOOLS_S + 0.1)
    os.write(gate, b"begin\n")
    assert (await asked)["touch x"].error == "touch is not installed"
    os.close(gate)


async def test_while_others_still_answer_nobody_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = '{"mount_point": %s, "total_bytes": 2, "free_bytes": 1}\\n'
    slow = f"echo; while read place; do sleep 0.4; printf '{answer}' \"$place\"; done"
    monkeypatch.setattr(children, "command", lambda *_: ["sh", "-c", slow])
    places = [f"/mnt/{number}" for number in range(4)]
    assert list(await asking.free_space(places)) == places


async def test_the_child_of_one_who_is_cancelled_is_let_go_of_at_once(
    gate: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when its object is collected: by then the loop may be closed, and its pipes cannot be."""
    abandon, abandoned = children.Child.abandon, asyncio.Event()

    def noted(child: children.Child) -> None:
        abandoned.set()
        abandon(child)

    monkeypatch.setattr(children.Child, "abandon", noted)
    asked = asyncio.ensure_future(asking.free_space([str(tmp_path)]))
    await asyncio.wait([asked], timeout=0.5)  # it waits at the gate
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert abandoned.is_set()
    os.close(gate)


async def test_what_the_answers_lead_to_is_asked_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server names a path, and what lies there is another question."""
    asked: list[tuple[Command, ...]] = []
    first, second = ("testparm", "path"), ("stat", "/data")

    async def tools(commands: tuple[Command, ...]) -> Claims:
        asked.append(commands)
        return {line(command): Answer() for command in commands}

    def surveyed(_: Path, claims: Claims) -> Inventory:
        return Inventory(unused=tuple(disk(name) for name in claims))

    def led_to(found: Inventory) -> tuple[Command, ...]:
        return (first, second) if found.unused else (first,)

    monkeypatch.setattr(asking, "tools", tools)
    monkeypatch.setattr(survey, "survey", surveyed)
    monkeypatch.setattr(survey, "commands", led_to)
    box = LocalMachine()
    found = await box.with_space(box.survey())
    assert asked == [(first,), (second,)]
    assert {node.id for node in found.unused} == {line(first), line(second)}
    await box.with_space(box.survey())
    assert len(asked) == 2
