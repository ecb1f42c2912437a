"""Read the outlines of saved runs, which the history shows. An outline takes about 0.24 ms, less than a whole run."""

from collections.abc import Callable, Iterable, Iterator
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
from fstui.state.files import read_regular

_Document = TypeVar("_Document")
ReplicaCutResult = Literal["lost", "diverged", "none lost"]
"""The result of ``replica-cut``. "lost": some commits are on neither server. "diverged": the primary lost commits that
its replica has."""


class RunNotFound(Refused):
    """No saved run has this reference, or several have it."""


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
    elapsed_s: float = 0.0
    cpu_wait_ns: int | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether the step finished and waited little for a CPU."""
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


class OutlineFile(NamedTuple):
    """The file of a saved run. Either ``outline`` is set, or ``problem``: the reason why the file could not be read."""

    path: Path
    outline: Outline | None = None
    altered: bool = False
    """The document does not match its digest."""
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


def read_outlines(files: Iterable[Path]) -> Iterator[OutlineFile]:
    for path in files:
        try:
            yield OutlineFile(path, *decode(path, lambda data: documents.decode_fields(data, Outline)))
        except (RunNotFound, UnreadableRun) as problem:
            yield OutlineFile(path, problem=str(problem))
