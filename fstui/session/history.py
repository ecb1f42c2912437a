"""The runs that were saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fstui.model.run import Run
from fstui.model.seal import ALTERED, sealed
from fstui.session import kept
from fstui.state import paths, runs
from fstui.state.runs import Summary

__all__ = ["ALTERED", "Saved", "Summary", "directory", "find", "listed", "with_rounds"]


class Saved(NamedTuple):
    """A run, and the file that it was read from."""

    run: Run
    path: str
    altered: bool = False
    """Its digest is of another document."""


def directory() -> str:
    """Where they are. Raises Refused without a home."""
    return str(paths.runs_dir())


async def listed() -> list[Summary]:
    """All of them, newest first. A file that cannot be read is among them, with the reason. Raises Refused."""
    return await kept.ask(runs.history)


async def find(reference: str) -> Saved:
    """The run of that id, unique beginning of an id, file name or path; ``last`` is the newest. Raises Refused."""
    return await kept.ask(_read, reference)


async def with_rounds(found: Sequence[Run]) -> list[Run]:
    """The same runs, and beside each its other rounds that are saved. Raises Refused."""
    return await kept.ask(_with_rounds, tuple(found))


def _with_rounds(found: tuple[Run, ...]) -> list[Run]:
    sides = {(run.round.series, run.round.side) for run in found if run.round}
    known = {run.id for run in found}
    others = [one for one in (runs.history() if sides else ()) if one.round and one.id not in known]
    wanted = [one for one in others if one.round and (one.round.series, one.round.side) in sides]
    return [*found, *(runs.read(Path(one.path)) for one in wanted)]


def _read(reference: str) -> Saved:
    path = runs.find(reference)
    run, altered = runs.read_sealed(path)
    as_shown = sealed(run) if run.digest and not altered else run  # read, a document of another version is another one
    return Saved(as_shown, str(path), altered)
