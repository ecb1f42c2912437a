"""What outlives us is written by a helper, which may be killed, or wait for a disk that hangs."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.measure.children import ask
from fstui.runs import saving
from fstui.state import runs
from tests.factories.samples import RUN


@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_helper_that_dies_loses_no_run(monkeypatch: pytest.MonkeyPatch, deaths: int) -> None:
    asked: list[str] = []

    async def killed(module: str, *arguments: Any) -> dict[str, Any]:
        asked.append(module)
        return await ask(
            "state.files" if len(asked) > deaths else "state.keys", *arguments
        )  # it says nothing, and ends

    monkeypatch.setattr("fstui.runs.saving.ask", killed)
    path, error = await saving.save(RUN)
    assert len(asked) == 2
    if deaths == 1:
        assert (path, error) == (str(runs.path_of(RUN)), None) and runs.load(RUN.id) == RUN
    else:
        assert (path, error) == (None, f"the run could not be saved: {runs.path_of(RUN)}: the helper process ended")
