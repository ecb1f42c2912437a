"""Saved runs: ``runs/20261120-031244-k3f9a1.json``, one document each."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from fstui.measure.kinds import documents
from fstui.model.documents import encode, is_altered
from fstui.model.errors import Refused
from fstui.model.judgement import Answer, Verdict
from fstui.model.run import Round, Run, RunStatus
from fstui.state import paths, remembered
from fstui.state.files import make_private, read_regular, sync_directory, write_atomically

_NAME = re.compile(r"(?P<time>\d{8}-\d{6})-(?P<id>[^/]+)\.json")
NEWEST = "last"
_Document = TypeVar("_Document")


class RunNotFound(Refused):
    """No saved run, or more than one, goes by that reference."""


class UnreadableRun(Refused):
    """The file is there, but it is not a run document that this version can read."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history. ``unreadable`` says why a file could not be read; then the other fields are empty."""

    path: str
    id: str = ""
    started_at: str = ""
    elapsed_s: float = 0.0
    status: RunStatus | None = None
    verdict: Verdict | None = None
    speed: Answer | None = None
    """None of a run that is older than the question."""
    scenario: str = ""
    target: str = ""
    hostname: str = ""
    simulated: str | None = None
    round: Round | None = None
    rate_per_s: float = 0.0
    """Of the first step that synced, else of the first that has one: what the scenario is mostly about."""
    rate_of: str = ""
    """The name of that step."""
    identity: str = ""
    """Of the storage, where it is known."""
    note: str = ""
    altered: bool = False
    """Its digest is of another document."""
    unreadable: str | None = None


def save(run: Run) -> Path:
    """Write the run's document, replacing what was saved of it before. Raises OSError, or Refused without a home."""
    path = path_of(run)
    make_private(path.parent)
    write_atomically(path, document(run))
    return path


def path_of(run: Run) -> Path:
    """Where that run is saved, now or later. Raises Refused without a home."""
    return paths.runs_dir() / f"{_stamp(run.started_at)}-{run.id}.json"


def document(run: Run) -> bytes:
    """What is saved."""
    return encode(run) + b"\n"


def load(reference: str) -> Run:
    """The run of that id, unique beginning of an id, file name or path; ``last`` is the newest.

    Raises RunNotFound and UnreadableRun, each with a sentence for the user.
    """
    return read(find(reference))


def find(reference: str) -> Path:
    """Where that run is saved. Raises RunNotFound."""
    if "/" in reference or reference in (".", ".."):
        return Path(reference).expanduser()
    saved = _files()
    if reference == NEWEST:
        if not saved:
            raise RunNotFound(f"no run is saved in {paths.runs_dir()} yet")
        return saved[0]
    exact = [path for path in saved if reference in (path.name, path.stem, _id(path))]
    found = exact or [path for path in saved if reference and _id(path).startswith(reference)]
    if len(found) == 1:
        return found[0]
    if not found:
        if Path(reference).is_file():
            return Path(reference)
        raise RunNotFound(f"no saved run is called '{reference}': 'fstui history' lists them")
    names = ", ".join(_id(path) for path in found[:5]) + (" …" if len(found) > 5 else "")
    raise RunNotFound(f"'{reference}' fits {len(found)} saved runs ({names}): say more of the id")


class Read(NamedTuple):
    """A run, and whether its document is another than the one that was written."""

    run: Run
    altered: bool


def read(path: Path) -> Run:
    """The run document in that file. Raises RunNotFound where there is no file, else UnreadableRun."""
    return read_sealed(path).run


def read_sealed(path: Path) -> Read:
    """The same, with what its digest says of it."""
    return Read(*_decode(path, documents.decode_run))


def read_every(path: Path) -> list[Read]:
    """All runs of that file: one, or those of a check. Raises as ``read`` does."""
    every, _ = _decode(path, _each_sealed)
    return every


def history(most: int | None = None) -> list[Summary]:
    """Every file among the saved runs, newest first. A foreign or broken one is listed as unreadable."""
    noted = remembered.notes()
    return [_summary(path, noted.get(_id(path), "")) for path in _files()[:most]]


def delete(path: Path) -> None:
    """Remove that saved run, and what was noted of it. Raises OSError, and Refused of what is not among the runs."""
    if path.parent != paths.runs_dir():
        raise Refused(f"{path} is not among the saved runs: it is yours to remove")
    path.unlink()
    sync_directory(path.parent)
    remembered.forget_notes([_id(path)])


def newest_first() -> list[Path]:
    """The files of saved runs, foreign ones left out."""
    return [path for path in _files() if _NAME.fullmatch(path.name)]


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    hostname: str = ""


class _Target(msgspec.Struct, frozen=True):
    path: str = ""
    identity: str = ""


class _Step(msgspec.Struct, frozen=True):
    name: str
    rate_per_s: float = 0.0
    syncs: int = 0


class _Speed(msgspec.Struct, frozen=True):
    answer: Answer
    title: str = ""


class _Outline(documents.Version, frozen=True, kw_only=True):
    """The few fields of a document that the history shows; the rest is skipped unread."""

    id: str
    started_at: str
    elapsed_s: float = 0.0
    status: RunStatus = "finished"
    verdict: Verdict = "cannot-tell"
    speed: _Speed = _Speed("unknown")
    simulated: str | None = None
    round: Round | None = None
    scenario: _Named | None = None
    target: _Target | None = None
    steps: tuple[_Step, ...] = ()
    host: _Named | None = None


def _summary(path: Path, note: str) -> Summary:
    try:
        outline, altered = _decode(path, lambda data: documents.decode_outline(data, _Outline))
    except (RunNotFound, UnreadableRun) as error:
        return Summary(path=str(path), note=note, unreadable=str(error))
    rated = next(
        iter(sorted((step for step in outline.steps if step.rate_per_s), key=lambda step: not step.syncs)), None
    )
    return Summary(
        path=str(path),
        id=outline.id,
        started_at=outline.started_at,
        elapsed_s=outline.elapsed_s,
        status=outline.status,
        verdict=outline.verdict,
        speed=outline.speed.answer if outline.speed.title else None,
        scenario=outline.scenario.name if outline.scenario else "",
        target=outline.target.path if outline.target else "",
        hostname=outline.host.hostname if outline.host else "",
        simulated=outline.simulated,
        round=outline.round,
        rate_per_s=rated.rate_per_s if rated else 0.0,
        rate_of=rated.name if rated else "",
        identity=outline.target.identity if outline.target else "",
        note=note,
        altered=altered,
    )


def _decode(path: Path, decode: Callable[[bytes], _Document]) -> tuple[_Document, bool]:
    try:
        data, _ = read_regular(path)
    except FileNotFoundError:
        raise RunNotFound(f"there is no file {path}") from None
    except OSError as error:
        raise UnreadableRun(f"cannot read {path}: {error.strerror}") from None
    try:
        return decode(data), is_altered(data)
    except Refused as refusal:
        raise UnreadableRun(f"{path} is not a run document: {refusal}") from None


def _each_sealed(data: bytes) -> list[Read]:
    return [Read(documents.decode_run(one), is_altered(one)) for one in documents.each_of(data)]


def _files() -> list[Path]:
    try:
        found = [path for path in paths.runs_dir().iterdir() if path.suffix == ".json" and path.name[0] != "."]
    except OSError:
        return []
    # foreign names last: "last" must be a run of ours
    return sorted(found, key=lambda path: (bool(_NAME.fullmatch(path.name)), path.name), reverse=True)


def _id(path: Path) -> str:
    match = _NAME.fullmatch(path.name)
    return match["id"] if match else path.stem


def _stamp(started_at: str) -> str:
    return datetime.fromisoformat(started_at).strftime("%Y%m%d-%H%M%S")
