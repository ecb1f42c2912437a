"""What outlives fstui is written and read by a child process: its disk may hang."""

from __future__ import annotations

from pathlib import Path

from fstui.measure.children import in_child
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused
from fstui.model.run import Baselines, Run
from fstui.state import paths, runs, user_data
from fstui.state.files import write_private
from fstui.state.paths import in_home

SAVE_S = 10.0


async def remember(identity: str, declaration: Declaration) -> None:
    """Keep what is declared of a storage. Raises OSError, Refused."""
    where = str(paths.state_dir())
    await in_child(user_data.declare, identity, declaration, timeout_s=SAVE_S, where=where)


async def baselines(run: Run) -> Baselines:
    """Return the saved runs and references that a run is compared with; none where they cannot be read."""
    try:
        return await in_home(runs.baselines, run)
    except (OSError, Refused):
        return Baselines()


async def save(run: Run) -> tuple[str | None, str | None]:
    """Return where the run was saved, or why not."""
    try:
        path = runs.path_of(run)
        await _write(path, runs.document(run))
    except OSError as error:
        return None, f"the run could not be saved: {error.filename or path}: {error.strerror}"
    except Refused as reason:
        return None, f"the run could not be saved: {reason}"
    return str(path), None


async def _write(path: Path, document: bytes) -> None:
    """By a child, and by another one where the first was killed."""
    try:
        await in_child(write_private, path, document, timeout_s=SAVE_S, where=str(path))
    except ChildProcessError:
        await in_child(write_private, path, document, timeout_s=SAVE_S, where=str(path))
