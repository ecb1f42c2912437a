"""What storage is held against: what was published of other people's, and what the user measured on their own."""

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

__all__ = ["OwnReference", "add", "library", "own", "published", "remove"]

MOST_NAME = 40
ABOUT_A_FLEET = "fleet.json"
"""Beside the documents of its boxes: it is none of them."""
READING_S = 60.0
"""For a directory of a thousand documents."""


async def own() -> tuple[OwnReference, ...]:
    """Those that the user named. Raises Refused where the home gives no answer."""
    return await in_home(user_data.own_references)


class Added(NamedTuple):
    """What came of some runs."""

    references: tuple[OwnReference, ...]
    left_out: tuple[str, ...]
    """Of many runs those that are none, with the reason."""


async def add(name: str, references: Iterable[str]) -> Added:
    """Runs, or files and directories of their documents, as references of that name. Raises Refused, OSError.

    A run that is no reference is refused where it is named alone, and left out of many, as of a fleet's.
    """
    if not name.strip() or len(name) > MOST_NAME or not name.isprintable():
        raise Refused(f"a name of 1 to {MOST_NAME} printable characters is wanted, as in --name 'our db hosts'")
    runs, left_out = await in_home(_read, tuple(references), timeout_s=READING_S)
    found = of_runs(name, runs)
    await in_home(user_data.add_references, found)
    return Added(found, left_out)


async def remove(name: str) -> None:
    """Forget those of that name. Raises Refused where there are none, OSError."""
    await in_home(user_data.remove_references, name)


def _read(references: tuple[str, ...]) -> tuple[list[Run], tuple[str, ...]]:
    found: list[Run] = []
    left_out: list[str] = []
    for reference in references:
        every = [(run, why_unsuitable(run)) for path in _documents(reference) for run in _sound(path)]
        if not every:
            raise Refused(f"{reference}: there is no run in it")
        if fit := [run for run, reason in every if not reason]:
            found += fit
            left_out += [_named(run, reason) for run, reason in every if reason]
        else:
            found.append(every[0][0])  # which is refused, with its reason
    return found, tuple(left_out)


def _named(run: Run, reason: str) -> str:
    return f"run {run.id} of {run.host.hostname}, {run.target.path if run.target else '?'}: {reason}"


def _documents(reference: str) -> list[Path]:
    place = Path(reference)
    if not place.is_dir():
        return [runs.find(reference)]
    found = sorted(path for path in place.glob("*.json") if path.name != ABOUT_A_FLEET)
    if not found:
        raise Refused(f"{reference}: there is no run's document (*.json) in it")
    return found


def _sound(path: Path) -> list[Run]:
    every = runs.read_all(path)
    if any(altered for _, altered in every):
        raise Refused(f"{path}: {ALTERED}")
    return [run for run, _ in every]
