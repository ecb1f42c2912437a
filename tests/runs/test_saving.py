"""Runs are saved by a child process, which may be killed."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.measure.children import in_child
from fstui.runs import saving
from fstui.state import runs
from tests.factories.samples import RUN


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_child_that_is_killed_loses_no_run(monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    asked: list[object] = []

    async def killed(function: Any, *arguments: Any, **how: Any) -> None:
        asked.append(function)
        if len(asked) <= deaths:
            raise ChildProcessError(10, "the child process was killed")
        await in_child(function, *arguments, **how)

    monkeypatch.setattr(saving, "in_child", killed)
    path, error = await saving.save(RUN)
    assert len(asked) == 2
    if deaths == 1:
        assert (path, error) == (str(runs.path_of(RUN)), None) and runs.load(RUN.id) == RUN
    else:
        assert (path, error) == (None, f"the run could not be saved: {runs.path_of(RUN)}: the child process was killed")
