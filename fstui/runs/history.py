"""The saved runs, read in child processes because the state directory may hang."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from fstui.model.documents import with_digest
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.state import paths, runs, user_data
from fstui.state.outlines import TimeLimitExpired
from fstui.state.paths import call_in_state_dir
from fstui.state.runs import Summary

__all__ = ["Summary"]  # re-exported for the interfaces

MAX_NOTE_LENGTH = 200
READ_TIMEOUT_S = 20.0
"""Time limit of one child process. If thousands of documents are not in the index yet, several processes read them."""


class SavedRun(NamedTuple):
    run: Run
    path: str
    altered: bool = False
    """The document does not match its digest."""


def directory() -> str:
    return str(paths.runs_dir())


async def summaries(max_count: int | None = None) -> list[Summary]:
    """Return summaries of all saved runs, or of the newest, including unreadable files. Raises Refused."""
    while True:
        try:
            return await call_in_state_dir(runs.history, max_count, READ_TIMEOUT_S)
        except TimeLimitExpired:  # the next child continues where this one stopped
            continue


async def find(reference: str) -> SavedRun:
    """Return a run by its id, the beginning of its id, its file name, its path, or ``last``. Raises Refused."""
    return await call_in_state_dir(_read_run, reference)


def matches(summaries: Sequence[Summary], text: str) -> list[Summary]:
    words = text.lower().split()
    return [summary for summary in summaries if all(word in _shown_text(summary) for word in words)]


async def save_note(reference: str, text: str) -> None:
    """Save a note on a run. An empty note removes the saved one. Raises Refused, OSError."""
    saved = await find(reference)
    text = text.replace("\xa0", " ")  # the no-break space of numbers that are copied from a report
    if not text.isprintable() or len(text) > MAX_NOTE_LENGTH:
        raise Refused(f"a note is one line of at most {MAX_NOTE_LENGTH} printable characters")
    await call_in_state_dir(user_data.save_note, saved.run.id, text.strip())


async def delete(path: str) -> None:
    """Delete the saved run in that file. Raises Refused, OSError."""
    await call_in_state_dir(runs.delete, Path(path))


async def path_of(reference: str) -> str:
    """Return the file of a run, which may be unreadable. Raises Refused."""
    return str(await call_in_state_dir(runs.find, reference))


async def add_rounds(chosen_runs: Sequence[Run]) -> list[Run]:
    """Return the runs together with the other saved rounds of the same series and side. Raises Refused."""
    return await call_in_state_dir(_add_rounds, tuple(chosen_runs))


def _shown_text(summary: Summary) -> str:
    words = [summary.id, summary.started_at, summary.scenario, summary.target, summary.hostname, summary.note]
    words += [summary.path]
    words += [word for word in (summary.verdict, summary.speed, summary.status) if word]
    words += ["simulated"] if summary.simulated is not None else []
    words += ["altered"] if summary.altered else []
    return " ".join(words).lower()


def _add_rounds(chosen_runs: tuple[Run, ...]) -> list[Run]:
    sides = {(run.round.series, run.round.side) for run in chosen_runs if run.round}
    ids = {run.id for run in chosen_runs}
    others = [saved for saved in (runs.history() if sides else ()) if saved.round and saved.id not in ids]
    other_rounds = [saved for saved in others if saved.round and (saved.round.series, saved.round.side) in sides]
    return [*chosen_runs, *(runs.read(Path(saved.path)) for saved in other_rounds)]


def _read_run(reference: str) -> SavedRun:
    path = runs.find(reference)
    run, altered = runs.read_document(path)
    run = replace(run, status=runs.status_now(run))
    # a document of an older version was converted, so it needs a new digest
    current = with_digest(run) if run.digest and not altered else run
    return SavedRun(current, str(path), altered)
