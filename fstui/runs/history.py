"""The saved runs, read in child processes because the state directory may hang."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fstui.model.documents import ALTERED, with_digest
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.state import paths, runs, user_data
from fstui.state.outlines import Unfinished
from fstui.state.paths import in_home
from fstui.state.runs import Summary

__all__ = ["ALTERED", "Summary"]

MAX_NOTE_LENGTH = 200
READING_S = 20.0
"""Time limit of one child process. Thousands of documents that are not in the index yet take longer."""


class SavedRun(NamedTuple):
    run: Run
    path: str
    altered: bool = False
    """The digest in the document does not match it."""


def directory() -> str:
    return str(paths.runs_dir())


async def listed(most: int | None = None) -> list[Summary]:
    """Return summaries of all saved runs, or the ``most`` newest, unreadable files included. Raises Refused."""
    while True:
        try:
            return await in_home(runs.history, most, READING_S)
        except Unfinished:  # the next child continues where this one stopped
            continue


async def find(reference: str) -> SavedRun:
    """Return the run of this id, beginning of an id, file name or path; ``last`` is the newest. Raises Refused."""
    return await in_home(_read, reference)


def matching(summaries: Sequence[Summary], words: str) -> list[Summary]:
    wanted = words.lower().split()
    return [one for one in summaries if all(word in _shown(one) for word in wanted)]


async def note(reference: str, words: str) -> None:
    """Save a note on a run; an empty one removes it. Raises Refused, OSError."""
    saved = await find(reference)
    words = words.replace("\xa0", " ")  # numbers that are copied from a report contain it
    if not words.isprintable() or len(words) > MAX_NOTE_LENGTH:
        raise Refused(f"a note is one line of at most {MAX_NOTE_LENGTH} printable characters")
    await in_home(user_data.note, saved.run.id, words.strip())


async def delete(path: str) -> None:
    """Delete the saved run in that file. Raises Refused, OSError."""
    await in_home(runs.delete, Path(path))


async def path_of(reference: str) -> str:
    """Return the file of a run, which may be unreadable. Raises Refused."""
    return str(await in_home(runs.find, reference))


async def with_rounds(found: Sequence[Run]) -> list[Run]:
    """Return the runs together with the other saved rounds of the same series. Raises Refused."""
    return await in_home(_with_rounds, tuple(found))


def _shown(one: Summary) -> str:
    words = [one.id, one.started_at, one.scenario, one.target, one.hostname, one.note, one.path]
    words += [word for word in (one.verdict, one.speed, one.status) if word]
    words += ["simulated"] if one.simulated is not None else []
    words += ["altered"] if one.altered else []
    return " ".join(words).lower()


def _with_rounds(found: tuple[Run, ...]) -> list[Run]:
    sides = {(run.round.series, run.round.side) for run in found if run.round}
    known = {run.id for run in found}
    others = [one for one in (runs.history() if sides else ()) if one.round and one.id not in known]
    wanted = [one for one in others if one.round and (one.round.series, one.round.side) in sides]
    return [*found, *(runs.read(Path(one.path)) for one in wanted)]


def _read(reference: str) -> SavedRun:
    path = runs.find(reference)
    run, altered = runs.read_document(path)
    run = replace(run, status=runs.status_now(run))
    # an older document is read as one of this version, so it needs a new digest
    as_shown = with_digest(run) if run.digest and not altered else run
    return SavedRun(as_shown, str(path), altered)
