"""Read the outlines of saved runs, which the history shows, and keep an index of them.

Reading an outline takes about 0.24 ms, so a history of 10 000 runs would take 2.4 s. The index keeps the outlines of
files that have not changed since they were read. It can be rebuilt at any time, so it is not synced to disk.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from fstui.measure.kinds import documents
from fstui.model.documents import is_altered
from fstui.model.errors import Refused
from fstui.model.judgement import Answer, Verdict
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import Round, RunStatus
from fstui.model.steps import STARVED_SHARE
from fstui.state import paths
from fstui.state.files import make_private, read_regular, write_atomically

INDEX = "runs.index"
VERSION = 2
"""Increase this number when the fields of an outline change."""
WORTH_WRITING = 20
"""Write the index if at least this many outlines are new. Fewer are not worth it, because it takes only 0.24 ms to read
one again."""
WRITE_EVERY_S = 5.0
_Document = TypeVar("_Document")
Survived = Literal["lost", "diverged", "none lost"]
"""The answer of ``replica-cut``. lost: some commits are on neither server. diverged: the primary lost commits that its
replica has."""


class RunNotFound(Refused):
    """No saved run has this reference, or more than one."""


class Unfinished(Exception):  # noqa: N818  the caller goes on
    """The time limit is over. The outlines read so far are in the index, so the next call continues after them."""


class UnreadableRun(Refused):
    """The file exists, but it is not a run document that this version can read."""


class _Scenario(msgspec.Struct, frozen=True):
    name: str = ""
    settings: dict[str, Any] = msgspec.field(default_factory=dict)


class _Host(msgspec.Struct, frozen=True):
    hostname: str = ""


class _Target(msgspec.Struct, frozen=True):
    path: str = ""
    identity: str = ""
    mount_point: str = ""


class _Latency(msgspec.Struct, frozen=True):
    mean: int


class _Figures(msgspec.Struct, frozen=True):
    on_primary: int | None = None
    """Only ``replica_cut`` has this field."""
    lost_on_primary: int = 0
    lost_everywhere: int = 0


class _Step(msgspec.Struct, frozen=True, gc=False):
    name: str
    status: str = "finished"
    rate_per_s: float = 0.0
    syncs: int = 0
    latency_ns: _Latency | None = None
    figures: _Figures | None = None
    elapsed_s: float = 0.0
    cpu_wait_ns: int | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether it finished and waited little for a CPU."""
        return self.status == "finished" and (self.cpu_wait_ns or 0) <= STARVED_SHARE * self.elapsed_s * 1e9


class _Speed(msgspec.Struct, frozen=True):
    answer: Answer
    title: str = ""


class _Process(msgspec.Struct, frozen=True):
    io_limits: tuple[Any, ...] = ()


class Outline(documents.Version, frozen=True, kw_only=True, gc=False):
    """Some fields of a run document; msgspec skips the others."""

    id: str
    started_at: str
    elapsed_s: float = 0.0
    status: RunStatus = "finished"
    verdict: Verdict = "cannot-tell"
    speed: _Speed = _Speed("unknown")
    simulated: str | None = None
    round: Round | None = None
    like: dict[str, Any] | None = None
    rate_limit: RateLimit = msgspec.field(default=UNLIMITED, name="restraint")
    process: _Process = _Process()
    scenario: _Scenario | None = None
    target: _Target | None = None
    host: _Host = _Host()
    steps: tuple[_Step, ...] = ()

    @property
    def survived(self) -> Survived | None:
        found = [step.figures for step in self.steps if step.figures and step.figures.on_primary is not None]
        if any(each.lost_everywhere for each in found):
            return "lost"
        lost = any(each.lost_on_primary for each in found)
        return ("diverged" if lost else "none lost") if found else None

    @property
    def is_unrestricted(self) -> bool:
        """Whether it ran to its end on real storage, without a limit of any kind."""
        limited = self.like or self.rate_limit or self.process.io_limits
        return self.status == "finished" and not (self.simulated or limited)


class Indexed(msgspec.Struct, frozen=True, gc=False):
    """An outline and the state of the file from which it was read."""

    stamp: tuple[int, ...]
    altered: bool
    """The document was changed after it was saved: its digest does not match."""
    outline: Outline


class _Index(msgspec.Struct, frozen=True):
    version: int = VERSION
    files: dict[str, Indexed] = msgspec.field(default_factory=dict)


class Read(NamedTuple):
    """A file of a saved run. Either ``found`` is set, or ``problem`` says why the file could not be read."""

    path: Path
    found: Indexed | None = None
    problem: str = ""


def decode(path: Path, decoder: Callable[[bytes], _Document]) -> tuple[_Document, bool]:
    """Return the content of a run document, and whether it was altered. Raises RunNotFound, UnreadableRun."""
    try:
        data, _ = read_regular(path)
    except FileNotFoundError:
        raise RunNotFound(f"there is no file {path}") from None
    except OSError as error:
        raise UnreadableRun(f"cannot read {path}: {error.strerror}") from None
    try:
        return decoder(data), is_altered(data)
    except Refused as refusal:
        raise UnreadableRun(f"{path} is not a run document: {refusal}") from None


def read_outlines(wanted: Iterable[Path], saved: Sequence[Path], limit_s: float = math.inf) -> Iterator[Read]:
    """Yield outlines of ``wanted``; the index keeps only those of ``saved``. Raises Unfinished after ``limit_s``."""
    known = _read_index()
    new: dict[str, Indexed] = {}
    began_at = written_at = time.monotonic()
    for path in wanted:
        stamp = _stamp(path)
        found = known.get(path.name)
        if found is None or found.stamp != stamp:
            try:
                outline, altered = decode(path, lambda data: documents.decode_fields(data, Outline))
            except (RunNotFound, UnreadableRun) as problem:
                yield Read(path, problem=str(problem))
                continue
            found = new[path.name] = Indexed(stamp, altered, outline)
            # write now and then, so that a long reading that is interrupted can continue where it was
            if time.monotonic() - written_at > WRITE_EVERY_S:
                known |= new
                written = _write_index(known, saved)
                new, written_at = {}, time.monotonic()
                # without an index the next call would start again from the beginning, so this one goes on
                if written and written_at - began_at > limit_s:
                    raise Unfinished
        yield Read(path, found)
    if len(new) >= WORTH_WRITING:
        _write_index(known | new, saved)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change when the file changes."""
    try:
        found = os.stat(path)  # noqa: PTH116  half as fast through Path, and there may be 10 000
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _read_index() -> dict[str, Indexed]:
    try:
        data, _ = read_regular(paths.state_dir() / INDEX)
        index = msgspec.json.decode(data, type=_Index)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return index.files if index.version == VERSION else {}


def _write_index(files: dict[str, Indexed], saved: Sequence[Path]) -> bool:
    """Write the index without runs that were deleted. Returns False if the disk is full or read-only."""
    names = {path.name for path in saved}
    data = msgspec.json.encode(_Index(files={name: found for name, found in files.items() if name in names}))
    try:
        write_atomically(make_private(paths.state_dir()) / INDEX, data, sync=False)
    except OSError:
        return False
    return True
