"""References to compare storage with: published results, and the user's own runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from fstui.judge.references import library, of_runs, published, why_unsuitable
from fstui.model.documents import ALTERED
from fstui.model.errors import Refused
from fstui.model.run import OwnReference, Run
from fstui.state import runs, user_data
from fstui.state.paths import in_home

__all__ = ["library", "published"]

MAX_NAME_LENGTH = 40
ABOUT_A_FLEET = "fleet.json"
"""The summary of a fleet, next to the documents of its hosts."""
READING_S = 60.0
"""Time to read a directory of a thousand documents."""


async def own() -> tuple[OwnReference, ...]:
    """Return the user's own references. Raises Refused if the state directory does not answer."""
    return await in_home(user_data.own_references)


class Added(NamedTuple):
    references: tuple[OwnReference, ...]
    left_out: tuple[str, ...]


async def add(name: str, references: Iterable[str]) -> Added:
    """Add runs or documents as references. Raises OSError, or Refused for one that is named alone."""
    if not name.strip() or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        raise Refused(f"A name has 1 to {MAX_NAME_LENGTH} printable characters, for example --name 'our db hosts'")
    runs, left_out = await in_home(_read, tuple(references), timeout_s=READING_S)
    found = of_runs(name, runs)
    await in_home(user_data.add_references, found)
    return Added(found, left_out)


async def remove(name: str) -> None:
    """Remove the references of that name. Raises Refused if there are none, OSError."""
    await in_home(user_data.remove_references, name)


def _read(references: tuple[str, ...]) -> tuple[list[Run], tuple[str, ...]]:
    found: list[Run] = []
    left_out: list[str] = []
    for reference in references:
        every = [(run, why_unsuitable(run)) for path in _documents(reference) for run in _unaltered(path)]
        if not every:
            raise Refused(f"{reference} has no run")
        if fit := [run for run, reason in every if not reason]:
            found += fit
            left_out += [_named(run, reason) for run, reason in every if reason]
        else:
            found.append(every[0][0])  # of_runs refuses it with the reason
    return found, tuple(left_out)


def _named(run: Run, reason: str) -> str:
    return f"run {run.id} of {run.host.hostname}, {run.target.path if run.target else '?'}: {reason}"


def _documents(reference: str) -> list[Path]:
    place = Path(reference)
    if not place.is_dir():
        return [runs.find(reference)]
    found = sorted(path for path in place.glob("*.json") if path.name != ABOUT_A_FLEET)
    if not found:
        raise Refused(f"{reference} has no document of a run (*.json)")
    return found


def _unaltered(path: Path) -> list[Run]:
    every = runs.read_all(path)
    if any(altered for _, altered in every):
        raise Refused(f"{path}: {ALTERED}")
    return [run for run, _ in every]
