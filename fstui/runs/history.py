"""The runs that were saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fstui.model.documents import ALTERED, sealed
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.state import paths, runs, user_data
from fstui.state.paths import in_home
from fstui.state.runs import Summary

__all__ = [
    "ALTERED",
    "Saved",
    "Summary",
    "delete",
    "directory",
    "find",
    "listed",
    "matching",
    "note",
    "where",
    "with_rounds",
]

MOST_NOTE = 200
"""Characters."""


class Saved(NamedTuple):
    """A run, and the file that it was read from."""

    run: Run
    path: str
    altered: bool = False
    """Its digest is of another document."""


def directory() -> str:
    """Where they are. Raises Refused without a home."""
    return str(paths.runs_dir())


async def listed(most: int | None = None) -> list[Summary]:
    """All of them, newest first. A file that cannot be read is among them, with the reason. Raises Refused.

    ``most``: so many of the newest.
    """
    return await in_home(runs.history, most)


async def find(reference: str) -> Saved:
    """The run of that id, unique beginning of an id, file name or path; ``last`` is the newest. Raises Refused."""
    return await in_home(_read, reference)


def matching(summaries: Sequence[Summary], words: str) -> list[Summary]:
    """Those that hold all of these words, in whatever is shown of them."""
    wanted = words.lower().split()
    return [one for one in summaries if all(word in _shown(one) for word in wanted)]


async def note(reference: str, words: str) -> None:
    """Keep these words beside that run; none: nothing. Raises Refused, OSError."""
    saved = await find(reference)
    if not words.isprintable() or len(words) > MOST_NOTE:
        raise Refused(f"a note is one line of at most {MOST_NOTE} printable characters")
    await in_home(user_data.note, saved.run.id, words.strip())


async def delete(path: str) -> None:
    """Remove the saved run in that file. Raises Refused, OSError."""
    await in_home(runs.delete, Path(path))


async def where(reference: str) -> str:
    """The file of that run, be it readable or not. Raises Refused."""
    return str(await in_home(runs.find, reference))


async def with_rounds(found: Sequence[Run]) -> list[Run]:
    """The same runs, and beside each its other rounds that are saved. Raises Refused."""
    return await in_home(_with_rounds, tuple(found))


def _shown(one: Summary) -> str:
    """Lower case, also what is shown only where it is so."""
    words = [one.id, one.started_at, one.scenario, one.target, one.hostname, one.note, one.path]
    words += [word for word in (one.verdict, one.speed, one.status) if word]
    words += ["simulated"] * (one.simulated is not None) + ["altered"] * one.altered
    return " ".join(words).lower()


def _with_rounds(found: tuple[Run, ...]) -> list[Run]:
    sides = {(run.round.series, run.round.side) for run in found if run.round}
    known = {run.id for run in found}
    others = [one for one in (runs.history() if sides else ()) if one.round and one.id not in known]
    wanted = [one for one in others if one.round and (one.round.series, one.round.side) in sides]
    return [*found, *(runs.read(Path(one.path)) for one in wanted)]


def _read(reference: str) -> Saved:
    path = runs.find(reference)
    run, altered = runs.read_document(path)
    as_shown = sealed(run) if run.digest and not altered else run  # read, a document of another version is another one
    return Saved(as_shown, str(path), altered)
