"""The results of a fleet: the directory with the documents of all hosts, and the figures that are compared.

The directory contains ``NODE.json`` for each host, and ``fleet.json`` about the request.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from fstui import __version__
from fstui.measure.kinds.documents import decode_run, refuse_decode_errors, split_file
from fstui.model.base import Base
from fstui.model.documents import is_altered
from fstui.model.errors import Refused
from fstui.model.judgement import NOT_TRUSTED, VERDICTS, Answer, Confidence, Verdict
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from fstui.model.watch import WatchReport
from fstui.report.documents import ListDocument
from fstui.report.findings import leading_finding
from fstui.state.files import open_parent, write_atomically
from fstui.storage.layers import kind
from fstui.storage.layers.devices.disk import is_over_own_network

SCHEMA = "fstui.fleet/1"
ABOUT = "fleet.json"
DEFAULT_NAME = "fstui-fleet-{:%Y%m%d-%H%M%S}"
MAX_BYTES = 32 << 20
"""Largest size of one document. The longest scenario produces a few MB."""
PARTS = 5
"""A step is divided into this many parts of equal length, which show how much its rate varies."""
_MAX_VALUE = 60
"""Names and ids are truncated to this length. A longer fact, such as a list of options, is left out, because it does
not help to tell hosts apart."""
_MAX_SENTENCE = 600


class Rate(Base, frozen=True, kw_only=True):
    step: str
    per_s: float
    p99_ns: int | None = None
    synced: bool = True
    """Some operations of the step were synced."""
    parts: tuple[float, ...] = ()
    """The rates in the parts of the step."""


class HostResult(Base, frozen=True, kw_only=True):
    """One result of a host: a run, one filesystem of a check, or the result of a list or a watch."""

    node: str
    place: str = ""
    """The target of the run."""
    run: str = ""
    verdict: Verdict | None = None
    confidence: Confidence = "low"
    sentence: str = ""
    flag: str = ""
    """The title of the finding that the verdict is based on, or what a watch reports about durability."""
    next: str = ""
    speed: Answer | None = None
    speed_title: str = ""
    rates: tuple[Rate, ...] = ()
    layers: str = ""
    model: str = ""
    cache: str = ""
    kernel: str = ""
    cloud: str = ""
    """The provider. The hypervisor is left out, because root and other users see different ones."""
    facts: dict[str, str] = {}
    """Settings and readings that may explain why the host differs from its peers. The name of a layer's fact begins
    with the kind of the layer."""
    notes: dict[str, str] = {}
    """Titles of findings without a verdict, by rule."""
    altered: bool = False
    stopped: str = ""
    shared: str = ""
    """The network storage below the target, which other hosts may use, too; empty for local storage."""

    @property
    def rank(self) -> int:
        """The rank of the verdict: 0 is the worst, and no verdict comes last."""
        return VERDICTS.index(self.verdict) if self.verdict else len(VERDICTS)

    @property
    def comparable(self) -> bool:
        """Whether other hosts may be compared with its rates. Storage that drops syncs is too fast for that."""
        return self.verdict not in NOT_TRUSTED


class About(Base, frozen=True, kw_only=True):
    """The request, its hosts, and the hosts that did not answer."""

    schema: str = SCHEMA
    version: str = __version__
    command: str
    arguments: tuple[str, ...] = ()
    started_at: str = ""
    elapsed_s: float = 0.0
    nodes: tuple[str, ...] = ()
    troubles: dict[str, str] = {}
    """By host: why it returned no document."""
    remarks: dict[str, str] = {}
    """By host: how its command ended, if it failed although it returned a document."""
    fanout: int = 0
    """Number of hosts at a time; 0 in older documents."""


class Fleet(Base, frozen=True, kw_only=True):
    about: About
    results: tuple[HostResult, ...] = ()


def create_directory(directory: Path | None) -> Path:
    """Create a directory that only this user can read, or use an empty one. Raises Refused."""
    directory = directory or Path(DEFAULT_NAME.format(datetime.now()))
    try:
        with suppress(FileNotFoundError):
            _check_path(directory)  # before mkdir, which would follow a link of another user
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_path(directory)
        if directory.stat().st_uid != os.geteuid():
            raise Refused(f"--into {directory}: it belongs to another user. Name a new directory")
        if any(directory.iterdir()):
            raise Refused(f"--into {directory}: it is not empty. Name a new directory")
    except OSError as error:
        raise Refused(f"cannot create --into {directory}: {error.strerror}. Name another directory") from None
    return directory


def _check_path(directory: Path) -> None:
    """Raise OSError if another user could redirect the path of files in the directory."""
    os.close(open_parent(directory / ABOUT)[0])


def save_document(directory: Path, node: str, document: bytes) -> None:
    fd = os.open(directory / f"{node}.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(document + b"\n")


def save_about(directory: Path, about: About) -> None:
    write_atomically(directory / ABOUT, msgspec.json.format(msgspec.json.encode(about)) + b"\n")


def read_fleet(directory: Path) -> Fleet:
    try:
        with refuse_decode_errors():
            about = msgspec.json.decode((directory / ABOUT).read_bytes(), type=About)
    except OSError as error:
        raise Refused(f"{directory}: {ABOUT}: {error.strerror}. Name a directory that fstui fleet created") from None
    except Refused as refusal:
        raise Refused(f"{directory / ABOUT}: {refusal}") from None
    if about.schema != SCHEMA:
        raise Refused(f"{directory / ABOUT}: its schema is '{about.schema}', not '{SCHEMA}'")
    troubles = dict(about.troubles)
    results = tuple(_results(directory, about, troubles))
    return Fleet(about=msgspec.structs.replace(about, troubles=troubles), results=results)


def _results(directory: Path, about: About, troubles: dict[str, str]) -> Iterator[HostResult]:
    for node in about.nodes:
        if node in troubles or "/" in node:
            continue
        try:
            file = directory / f"{node}.json"
            if file.stat().st_size > MAX_BYTES:
                raise Refused("it is larger than any document")
            yield from results_of(node, about.command, file.read_bytes())
        except OSError as error:
            troubles[node] = f"{node}.json: {error.strerror}"
        except Refused as refusal:
            troubles[node] = f"its output is not a document: {refusal}"


def results_of(node: str, command: str, document: bytes) -> tuple[HostResult, ...]:
    """Return the results in one host's document. Raises Refused with the reason if it is invalid."""
    with refuse_decode_errors():
        match command:
            case "run":
                return (_run_result(node, decode_run(document), is_altered(document)),)
            case "check":
                return tuple(_run_result(node, decode_run(run), is_altered(run)) for run in split_file(document))
            case "watch":
                return (_watch_result(node, msgspec.json.decode(document, type=WatchReport)),)
            case _:
                return (_list_result(node, msgspec.json.decode(document, type=ListDocument)),)


def _run_result(node: str, run: Run, altered: bool) -> HostResult:
    finding, target = leading_finding(run), run.target
    next_step = finding.next[0] if finding and finding.next else next(iter(run.speed.next), "")
    return HostResult(
        node=node,
        place=run.target_path,
        run=run.id[:_MAX_VALUE],
        verdict=run.verdict,
        confidence=run.confidence,
        sentence=run.sentence[:_MAX_SENTENCE],
        flag=finding.title[:_MAX_SENTENCE] if finding else "",
        next=next_step[:_MAX_SENTENCE],
        speed=run.speed.answer if run.speed.title else None,
        speed_title=run.speed.title[:_MAX_SENTENCE],
        rates=tuple(
            Rate(
                step=step.name[:_MAX_VALUE],
                per_s=step.rate_per_s,
                p99_ns=step.latency_ns.p99 if step.latency_ns else None,
                synced=step.syncs > 0,
                parts=_parts(step),
            )
            for step in run.steps
            if step.status == "finished" and step.ops and step.settings.uniform
        ),
        **(_storage_fields(target) if target else {}),
        kernel=run.host.kernel[:_MAX_VALUE],
        cloud=run.host.cloud or "",
        facts=_facts(run),
        notes={note.rule[:_MAX_VALUE]: note.title[:_MAX_SENTENCE] for note in run.findings if note.verdict is None},
        altered=altered,
        stopped="" if run.status == "finished" else run.status,
    )


def _parts(step: Step) -> tuple[float, ...]:
    """Return the rate in each part in which operations ended; nothing if the step was too short."""
    if len(step.timeline) < PARTS or step.elapsed_s <= 0:
        return ()
    ops = [0] * PARTS
    for point in step.timeline:
        ops[min(int(point.t_s / step.elapsed_s * PARTS), PARTS - 1)] += point.ops
    return tuple(round(count * PARTS / step.elapsed_s, 1) for count in ops if count)


def _storage_fields(target: Target) -> dict[str, str]:
    lowest = target.lowest
    return {
        "layers": " › ".join(dict.fromkeys(node.kind for node in target.stack if node.kind != "file")),
        "model": " + ".join(dict.fromkeys(node.model or node.link or node.kind for node in lowest)),
        "cache": " + ".join(dict.fromkeys(node.write_cache or "unknown" for node in lowest)),
        "shared": _shared_storage(target),
    }


def _shared_storage(target: Target) -> str:
    """Return the name of the server or volume if the target is stored on a server, or only on network disks."""
    if any(node.layer == "remote" for node in target.lowest):
        return target.source[:_MAX_SENTENCE]
    if target.identity and all(is_over_own_network(node) for node in target.lowest):
        models = " + ".join(dict.fromkeys(node.model or node.kind for node in target.lowest))
        return f"{models}, {target.identity}"
    return ""


def _facts(run: Run) -> dict[str, str]:
    """Return the values of the facts by name. The values of several layers of one kind are joined, topmost first."""
    values_of: dict[str, dict[str, None]] = {}
    for fact, value in _named_facts(run):
        if value:
            values_of.setdefault(fact, {})[value] = None
    joined = {fact: " + ".join(values) for fact, values in values_of.items()}
    return {fact: value for fact, value in joined.items() if len(value) <= _MAX_VALUE}


def _named_facts(run: Run) -> Iterator[tuple[str, str]]:
    yield "kernel", run.host.kernel
    yield "number of processors", str(run.host.cpus)
    for library in run.process.preloads:
        yield "library that stubs syncs", library.value
    for limit in run.process.io_limits:
        yield "io limit of its cgroup", limit.value
    for node in run.target.stack if run.target else ():
        for what, value in _node_facts(node):
            yield f"{node.kind} {what}", value


def _node_facts(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or ""
    yield "model", node.model or ""
    yield "link", node.link or ""
    yield "FUA", "" if node.fua is None else "yes" if node.fua else "no"
    yield "medium", f"{node.medium.class_}, its cache {node.medium.write_cache}" if node.medium else ""
    for reading in node.readings:
        yield reading.what, reading.value
    for reading in node.state:
        yield reading.what, reading.value


def _watch_result(node: str, watch_report: WatchReport) -> HostResult:
    return HostResult(
        node=node,
        place=watch_report.mount_point or "",
        sentence=watch_report.sentence[:_MAX_SENTENCE],
        flag=watch_report.durability[:_MAX_SENTENCE],
        speed=watch_report.speed.answer if watch_report.speed.title else None,
        speed_title=watch_report.speed.title[:_MAX_SENTENCE],
        kernel=watch_report.host.kernel[:_MAX_VALUE],
    )


def _list_result(node: str, document: ListDocument) -> HostResult:
    filesystems = [filesystem for filesystem in document.filesystems if not filesystem.pseudo]
    # a tmpfs is not reported, because users expect it to lose its data
    judged = [target for target in filesystems if not kind(target.fstype).in_memory]
    faults = [(target, finding) for target in judged for finding in target.findings if finding.verdict in NOT_TRUSTED]
    faults.sort(key=lambda fault: NOT_TRUSTED.index(fault[1].verdict))  # worst first
    hung = [f"{target.mount_point} does not answer" for target in filesystems if target.silent_s is not None]
    problems = [*hung, *(f"{target.mount_point}: {finding.verdict}, {finding.title}" for target, finding in faults)]
    return HostResult(
        node=node,
        verdict=faults[0][1].verdict if faults else "cannot-tell" if hung else None,
        confidence=faults[0][1].confidence if faults else "low",
        sentence=counted(len(filesystems), "filesystem")
        + (f"; {'; '.join(problems)}"[:_MAX_SENTENCE] if problems else ""),
        kernel=document.host.kernel[:_MAX_VALUE],
        cloud=document.host.cloud or "",
    )
