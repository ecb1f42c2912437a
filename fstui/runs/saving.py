"""What outlives us is written and read by a child: the disk that it is on may be the one that hangs."""

from __future__ import annotations

import time
from typing import Any

from fstui.measure.children import ask, in_a_child
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import HeldAgainst, Run
from fstui.state import declarations, earlier, paths, runs

SAVE_S, EARLIER_S = 10.0, 2.0


async def remember(identity: str, declaration: Declaration) -> None:
    """Keep what is declared of a storage. Raises OSError, and Refused where there is no home, or no answer."""
    try:
        await in_a_child(declarations.remember, identity, declaration)
    except TimeoutError:
        raise Refused(f"the disk of {paths.state_dir()} gave no answer") from None


async def held_against(run: Run) -> HeldAgainst:
    """What the home tells that this one may be held against; nothing where it does not."""
    try:
        return await in_a_child(earlier.held_against, run, timeout_s=EARLIER_S)
    except (TimeoutError, OSError, Refused):
        return HeldAgainst()


async def save(run: Run) -> tuple[str | None, str | None]:
    """Where it was saved, or why not."""
    try:
        path = str(runs.path_of(run))
    except Refused as reason:
        return None, f"the run could not be saved: {reason}"
    since = time.monotonic()
    try:
        answer = await _written(path, runs.document(run))
    except TimeoutError:  # less than SAVE_S where a stop was asked
        waited_s = time.monotonic() - since
        return None, f"the run could not be saved: the disk of {path} gave no answer for {waited_s:.1f} s"
    except OSError as reason:
        return None, f"the run could not be saved: {reason}"
    if "error" in answer:
        return None, f"the run could not be saved: {answer.get('file', path)}: {answer['error']}"
    return path, None


async def _written(path: str, document: bytes) -> dict[str, Any]:
    """By a helper; by another one, where the first was killed."""
    answer = await ask("state.files", "write", path, SAVE_S, document)
    said = "saved" in answer or "file" in answer
    return answer if said else await ask("state.files", "write", path, SAVE_S, document)
