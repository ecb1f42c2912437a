"""A run into the history, by a child: the disk that it goes to may be the one that hangs."""

from __future__ import annotations

from fstui.children import ask
from fstui.model import Refused, Run
from fstui.quantities import plain
from fstui.state import runs

SAVE_S = 10.0


async def save(run: Run) -> tuple[str | None, str | None]:
    """Where it was saved, or why not."""
    try:
        path = str(runs.path_of(run))
    except Refused as reason:
        return None, f"the run could not be saved: {reason}"
    try:
        answer = await ask("state.files", "write", path, SAVE_S, runs.document(run))
    except TimeoutError:
        return None, f"the run could not be saved: the disk of {plain(path)} gave no answer for {SAVE_S:.0f} s"
    except OSError as reason:
        return None, f"the run could not be saved: {reason}"
    if "error" in answer:
        return None, f"the run could not be saved: {plain(answer['file'])}: {answer['error']}"
    return path, None
