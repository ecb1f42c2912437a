"""References to compare storage with: published results, and the user's own runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from fstui.judge.references import find_published, library, make_references, why_unsuitable
from fstui.model.documents import ALTERED
from fstui.model.errors import Refused
from fstui.model.run import OwnReference, Run
from fstui.state import runs, user_data
from fstui.state.paths import call_in_state_dir

__all__ = ["find_published", "library"]  # re-exported for the interfaces

MAX_NAME_LENGTH = 40
FLEET_SUMMARY_NAME = "fleet.json"
"""The file with the summary of a fleet, next to the documents of its hosts."""
READ_TIMEOUT_S = 60.0
"""Time limit for reading a directory, which may have a thousand documents."""


async def read_own_references() -> tuple[OwnReference, ...]:
    """Return the user's own references. Raises Refused if the state directory does not answer."""
    return await call_in_state_dir(user_data.own_references)


class AddedReferences(NamedTuple):
    references: tuple[OwnReference, ...]
    skipped: tuple[str, ...]


async def add(name: str, sources: Iterable[str]) -> AddedReferences:
    """Add suitable runs as references. ``sources``: run ids, documents and directories. Raises OSError, Refused."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise Refused(f"A name has 1 to {MAX_NAME_LENGTH} printable characters, for example --name 'our db hosts'")
    runs, skipped = await call_in_state_dir(_read_runs, tuple(sources), timeout_s=READ_TIMEOUT_S)
    new_references = make_references(name, runs)
    await call_in_state_dir(user_data.add_references, new_references)
    return AddedReferences(new_references, skipped)


async def remove(name: str) -> None:
    """Remove the references of that name. Raises OSError, and Refused if there are none."""
    await call_in_state_dir(user_data.remove_references, name)


def _read_runs(sources: tuple[str, ...]) -> tuple[list[Run], tuple[str, ...]]:
    suitable_runs: list[Run] = []
    skipped: list[str] = []
    for source in sources:
        candidates = [(run, why_unsuitable(run)) for path in _documents(source) for run in _read_unaltered(path)]
        if not candidates:
            raise Refused(f"{source} contains no run")
        if suitable_candidates := [run for run, reason in candidates if not reason]:
            suitable_runs += suitable_candidates
            skipped += [_label(run, reason) for run, reason in candidates if reason]
        else:
            suitable_runs.append(candidates[0][0])  # make_references refuses this run with the reason
    return suitable_runs, tuple(skipped)


def _label(run: Run, reason: str) -> str:
    return f"run {run.id} of {run.host.hostname}, {run.target.path if run.target else '?'}: {reason}"


def _documents(source: str) -> list[Path]:
    directory = Path(source)
    if not directory.is_dir():
        return [runs.find(source)]
    documents = sorted(path for path in directory.glob("*.json") if path.name != FLEET_SUMMARY_NAME)
    if not documents:
        raise Refused(f"{source} contains no run document (*.json)")
    return documents


def _read_unaltered(path: Path) -> list[Run]:
    loaded_runs = runs.read_all(path)
    if any(altered for _, altered in loaded_runs):
        raise Refused(f"{path}: {ALTERED}")
    return [run for run, _ in loaded_runs]
