"""What is kept of a box's document to compare it: a few words and figures, so that thousands of them are little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from fstui.measure.kinds.documents import decode_run, each_of
from fstui.model.base import Base
from fstui.model.documents import is_altered
from fstui.model.errors import Refused
from fstui.model.host import Host
from fstui.model.judgement import NOT_TRUSTED, VERDICTS, Answer, Confidence, Finding, Speed, Verdict
from fstui.model.quantities import counted
from fstui.model.run import Run
from fstui.model.storage import Node, Target
from fstui.report.findings import leading
from fstui.storage.layers import kind

_LONGEST = 60
"""A value that is longer, a list of options say, explains nothing in one sentence."""
_MOST_WORDS = 600
Kind = TypeVar("Kind")


class Rate(Base, frozen=True, kw_only=True, array_like=True):
    """One step of a box."""

    step: str
    per_s: float
    p99_ns: int | None = None
    synced: bool = True
    """Each of its operations, or some of them, are to be durable."""


class Box(Base, frozen=True, kw_only=True):
    """One document of a box: a run, of a check one filesystem's, or what a list or a watch came to."""

    node: str
    place: str = ""
    """Its target."""
    run: str = ""
    verdict: Verdict | None = None
    confidence: Confidence = "low"
    sentence: str = ""
    flag: str = ""
    """The title of what the verdict rests on."""
    next: str = ""
    speed: Answer | None = None
    speed_title: str = ""
    rates: tuple[Rate, ...] = ()
    layers: str = ""
    model: str = ""
    cache: str = ""
    kernel: str = ""
    cloud: str = ""
    """The provider. The hypervisor is left out: root and other users do not see the same one."""
    facts: dict[str, str] = {}
    """What is set and read there, by the layer's kind: what may explain that it is not as its equals."""
    notes: dict[str, str] = {}
    """Titles of findings without a verdict, by rule."""
    altered: bool = False
    stopped: str = ""
    """Its status where it did not finish."""

    @property
    def rank(self) -> int:
        """Of its verdict, the worst is 0; none is behind all of them."""
        return VERDICTS.index(self.verdict) if self.verdict else len(VERDICTS)

    @property
    def comparable(self) -> bool:
        """Its rates are those of real syncs: storage that drops syncs is fast and no measure of others."""
        return self.verdict not in NOT_TRUSTED

    @property
    def commits(self) -> Rate | None:
        """The step whose rate is that of durable commits."""
        return next((one for one in self.rates if one.synced), None)


def boxes_of(node: str, command: str, document: bytes) -> tuple[Box, ...]:
    """Of one box's document, whatever it holds. Raises Refused with what is wrong with it."""
    match command:
        case "run":
            return (_of_run(node, decode_run(document), is_altered(document)),)
        case "check":
            return tuple(_of_run(node, decode_run(one), is_altered(one)) for one in each_of(document))
        case "watch":
            return (_of_watch(node, _decoded(document, _Watched)),)
        case _:
            return (_of_list(node, _decoded(document, _Listed)),)


def _decoded(document: bytes, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(document, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Refused(str(error)) from None


def _of_run(node: str, run: Run, altered: bool) -> Box:
    found, target = leading(run), run.target
    next_step = found.next[0] if found and found.next else next(iter(run.speed.next), "")
    return Box(
        node=node,
        place=target.path if target else "",
        run=run.id[:_LONGEST],
        verdict=run.verdict,
        confidence=run.confidence,
        sentence=run.sentence[:_MOST_WORDS],
        flag=found.title[:_MOST_WORDS] if found else "",
        next=next_step[:_MOST_WORDS],
        speed=run.speed.answer if run.speed.title else None,
        speed_title=run.speed.title[:_MOST_WORDS],
        rates=tuple(
            Rate(
                step=step.name[:_LONGEST],
                per_s=step.rate_per_s,
                p99_ns=step.latency_ns.p99 if step.latency_ns else None,
                synced=step.syncs > 0,
            )
            for step in run.steps
            if step.status == "finished" and step.ops and step.settings.uniform
        ),
        **(_stands_on(target) if target else {}),
        kernel=run.host.kernel[:_LONGEST],
        cloud=run.host.cloud or "",
        facts=_facts(run),
        notes={one.rule[:_LONGEST]: one.title[:_MOST_WORDS] for one in run.findings if one.verdict is None},
        altered=altered,
        stopped="" if run.status == "finished" else run.status,
    )


def _stands_on(target: Target) -> dict[str, str]:
    lowest = target.lowest
    return {
        "layers": " › ".join(dict.fromkeys(node.kind for node in target.stack if node.kind != "file")),
        "model": " + ".join(dict.fromkeys(node.model or node.link or node.kind for node in lowest)),
        "cache": " + ".join(dict.fromkeys(node.write_cache or "unknown" for node in lowest)),
    }


def _facts(run: Run) -> dict[str, str]:
    """Of several layers of one kind what each has, the topmost first."""
    found: dict[str, dict[str, None]] = {}
    for fact, value in _every_fact(run):
        if value:
            found.setdefault(fact, {})[value] = None
    joined = {fact: " + ".join(values) for fact, values in found.items()}
    return {fact: value for fact, value in joined.items() if len(value) <= _LONGEST}


def _every_fact(run: Run) -> Iterator[tuple[str, str]]:
    yield "kernel", run.host.kernel
    yield "number of processors", str(run.host.cpus)
    for library in run.process.preloads:
        yield "library that stubs syncs", library.value
    for limit in run.process.io_limits:
        yield "io limit of its cgroup", limit.value
    for node in run.target.stack if run.target else ():
        for what, value in _of_node(node):
            yield f"{node.kind} {what}", value


def _of_node(node: Node) -> Iterator[tuple[str, str]]:
    yield "write cache", node.write_cache or ""
    yield "model", node.model or ""
    yield "link", node.link or ""
    yield "FUA", "" if node.fua is None else "yes" if node.fua else "no"
    yield "medium", f"{node.medium.class_}, its cache {node.medium.write_cache}" if node.medium else ""
    for reading in node.readings:
        yield reading.what, reading.value
    for reading in node.state:
        yield reading.what, reading.value


class _Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What a watch came to."""

    schema: str
    sentence: str
    honest: str = ""
    mount_point: str | None = None
    speed: Speed = Speed()
    host: Host = Host()


def _of_watch(node: str, watched: _Watched) -> Box:
    return Box(
        node=node,
        place=watched.mount_point or "",
        sentence=watched.sentence[:_MOST_WORDS],
        flag=watched.honest[:_MOST_WORDS],
        speed=watched.speed.answer if watched.speed.title else None,
        speed_title=watched.speed.title[:_MOST_WORDS],
        kernel=watched.host.kernel[:_LONGEST],
    )


class _Filesystem(msgspec.Struct, frozen=True, kw_only=True):
    mount_point: str
    fstype: str = ""
    pseudo: bool = False
    silent_s: float | None = None
    findings: tuple[Finding, ...] = ()


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What is there, with what the configuration alone has against it."""

    filesystems: tuple[_Filesystem, ...]
    host: Host = Host()


def _of_list(node: str, listed: _Listed) -> Box:
    shown = [one for one in listed.filesystems if not one.pseudo]
    told = [one for one in shown if not kind(one.fstype).in_memory]  # a tmpfs surprises nobody
    bad = [(one, found) for one in told for found in one.findings if found.verdict in NOT_TRUSTED]
    silent = [f"{one.mount_point} does not answer" for one in shown if one.silent_s is not None]
    said = [f"{one.mount_point}: {found.verdict}, {found.title}" for one, found in bad]
    return Box(
        node=node,
        verdict=bad[0][1].verdict if bad else None,
        confidence=bad[0][1].confidence if bad else "low",
        sentence=counted(len(shown), "filesystem")
        + (f"; {'; '.join([*silent, *said])}"[:_MOST_WORDS] if silent or said else ""),
        kernel=listed.host.kernel[:_LONGEST],
        cloud=listed.host.cloud or "",
    )
