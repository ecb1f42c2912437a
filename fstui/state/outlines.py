"""Read the outlines of saved runs, which the history shows, and keep an index of them.

Reading an outline takes about 0.24 ms, so a history of 10 000 runs would take 2.4 s. The index contains the outlines of
files that have not changed since they were read. It can be rebuilt at any time, so it is not synced to disk.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from fstui.measure.kinds import documents, settings_kinds
from fstui.model.documents import is_altered
from fstui.model.errors import Refused
from fstui.model.judgement import Answer, Verdict
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.run import Round, RunStatus
from fstui.model.steps import STARVED_SHARE
from fstui.state import paths
from fstui.state.files import create_private_directory, read_regular, write_atomically

INDEX = "runs.index"
VERSION = 4
"""Increase this number when the fields of an outline change."""
MIN_NEW_OUTLINES = 20
"""Write the index if at least this many outlines are new. It is cheaper to read fewer outlines again."""
WRITE_INTERVAL_S = 5.0
_Document = TypeVar("_Document")
ReplicaCutResult = Literal["lost", "diverged", "none lost"]
"""The result of ``replica-cut``. "lost": some commits are on neither server. "diverged": the primary lost commits that
its replica has."""


class RunNotFound(Refused):
    """No saved run has this reference, or several have it."""


class TimeLimitExpired(Exception):  # noqa: N818  the caller goes on
    """The time limit has expired. The outlines read so far are in the index, so the next call continues after them."""


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


class _StepSettings(msgspec.Struct, frozen=True, gc=False):
    probe: str = ""


class _Figures(msgspec.Struct, frozen=True):
    on_primary: int | None = None
    """None, unless the step is a ``replica_cut``."""
    lost_on_primary: int = 0
    lost_everywhere: int = 0


class _Step(msgspec.Struct, frozen=True, gc=False):
    name: str
    status: str = "finished"
    rate_per_s: float = 0.0
    syncs: int = 0
    latency_ns: _Latency | None = None
    figures: _Figures | None = None
    settings: _StepSettings = _StepSettings()
    elapsed_s: float = 0.0
    cpu_wait_ns: int | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether the step finished and waited little for a CPU."""
        return self.status == "finished" and (self.cpu_wait_ns or 0) <= STARVED_SHARE * self.elapsed_s * 1e9

    @property
    def has_transactions(self) -> bool:
        """Whether its operations are the transactions or commits of a database."""
        kind = settings_kinds().get(self.settings.probe)
        return kind is not None and kind.uniform and kind.operation_name is not None


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
    time_limit_s: float | None = None
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
    def replica_cut_result(self) -> ReplicaCutResult | None:
        figures = [step.figures for step in self.steps if step.figures and step.figures.on_primary is not None]
        if any(figure.lost_everywhere for figure in figures):
            return "lost"
        has_diverged = any(figure.lost_on_primary for figure in figures)
        return ("diverged" if has_diverged else "none lost") if figures else None

    @property
    def is_unrestricted(self) -> bool:
        """Whether the run ran to completion on real storage, without a limit of any kind."""
        has_limit = self.like or self.rate_limit or self.process.io_limits
        return self.status == "finished" and not (self.simulated or has_limit)


class IndexEntry(msgspec.Struct, frozen=True, gc=False):
    """An outline and the state of the file from which it was read."""

    stamp: tuple[int, ...]
    altered: bool
    """The document does not match its digest."""
    outline: Outline


class _Index(msgspec.Struct, frozen=True):
    version: int = VERSION
    files: dict[str, IndexEntry] = msgspec.field(default_factory=dict)


class OutlineFile(NamedTuple):
    """The file of a saved run. Either ``entry`` is set, or ``problem``: the reason why the file could not be read."""

    path: Path
    entry: IndexEntry | None = None
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


def read_outlines(files: Iterable[Path], saved: Sequence[Path], limit_s: float = math.inf) -> Iterator[OutlineFile]:
    """Yield outlines of ``files``. The index keeps only ``saved`` runs. Raises TimeLimitExpired after ``limit_s``."""
    index = _read_index()
    new_outlines: dict[str, IndexEntry] = {}
    started_at = written_at = time.monotonic()
    for path in files:
        stamp = _stamp(path)
        entry = index.get(path.name)
        if entry is None or entry.stamp != stamp:
            try:
                outline, altered = decode(path, lambda data: documents.decode_fields(data, Outline))
            except (RunNotFound, UnreadableRun) as problem:
                yield OutlineFile(path, problem=str(problem))
                continue
            entry = new_outlines[path.name] = IndexEntry(stamp, altered, outline)
            # write the index from time to time, so that the next call can continue where this one stops
            if time.monotonic() - written_at > WRITE_INTERVAL_S:
                index |= new_outlines
                is_written = _write_index(index, saved)
                new_outlines, written_at = {}, time.monotonic()
                # if the index could not be written, do not stop: the next call would start from the beginning
                if is_written and written_at - started_at > limit_s:
                    raise TimeLimitExpired
        yield OutlineFile(path, entry)
    if len(new_outlines) >= MIN_NEW_OUTLINES:
        _write_index(index | new_outlines, saved)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return numbers that change when the file changes."""
    try:
        status = os.stat(path)  # noqa: PTH116  Path.stat takes twice the time, and there may be 10 000 files
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_index() -> dict[str, IndexEntry]:
    try:
        data, _ = read_regular(paths.state_dir() / INDEX)
        index = msgspec.json.decode(data, type=_Index)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return index.files if index.version == VERSION else {}


def _write_index(files: dict[str, IndexEntry], saved_files: Sequence[Path]) -> bool:
    """Write the index without deleted runs, which are not in ``saved_files``. Returns False if that failed."""
    saved_names = {path.name for path in saved_files}
    data = msgspec.json.encode(_Index(files={name: entry for name, entry in files.items() if name in saved_names}))
    try:
        write_atomically(create_private_directory(paths.state_dir()) / INDEX, data, sync=False)
    except OSError:
        return False
    return True
