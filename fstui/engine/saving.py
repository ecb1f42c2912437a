"""What outlives us is written and read by a child: the disk that it is on may be the one that hangs."""

from __future__ import annotations

from typing import Any

from fstui.children import ask, in_a_child
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import Earlier, Run
from fstui.state import declarations, paths, runs
from fstui.state import earlier as before

SAVE_S, EARLIER_S = 10.0, 2.0


async def remember(identity: str, declaration: Declaration) -> None:
    """Keep what is declared of a storage. Raises OSError, and Refused where there is no home, or no answer."""
    try:
        await in_a_child(declarations.remember, identity, declaration)
    except TimeoutError:
        raise Refused(f"the disk of {paths.state_dir()} gave no answer") from None


async def earlier(run: Run) -> tuple[Earlier, ...]:
    """The saved runs that this one may be held against; none where the home does not tell."""
    try:
        return await in_a_child(before.earlier, run, timeout_s=EARLIER_S)
    except (TimeoutError, OSError, Refused):
        return ()


async def save(run: Run) -> tuple[str | None, str | None]:
    """Where it was saved, or why not."""
    try:
        path = str(runs.path_of(run))
    except Refused as reason:
        return None, f"the run could not be saved: {reason}"
    try:
        answer = await _written(path, runs.document(run))
    except TimeoutError:
        return (
            None,
            f"the run could not be saved: the disk of {path} gave no answer for {SAVE_S:.0f} s",
        )
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
