"""The stack as a picture, with what went over its edges: asked for, passed on, dropped. The judge's own figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from fstui.judge import Case
from fstui.judge.facts.flushes import FlushAccount
from fstui.model.counters import DeviceCounters
from fstui.model.quantities import count, counted, ratio, size
from fstui.model.run import Evidence, Run
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from fstui.report.figures import failure
from fstui.report.findings import leading
from fstui.report.layers import called

State = Literal["", "arrived", "dropped", "unknown"]


class Line(NamedTuple):
    """A layer, or the edge above it."""

    text: str
    state: State = ""
    """What it says of the syncs; empty where it says nothing."""


def title(step: Step) -> str:
    """What the picture is called."""
    return f"the way down of {step.name}"


def of_run(run: Run) -> tuple[Step, list[Line]] | None:
    """The step that the verdict rests on, else the one with most syncs, and its picture; None where there is none."""
    finding = leading(run)
    named = [step for step in run.steps if step.ops and finding and step.name in finding.steps]
    step = max(named or [step for step in run.steps if step.ops], key=lambda step: step.syncs, default=None)
    return (step, lines(run, step)) if step and run.target and run.target.stack else None


def lines(evidence: Evidence, step: Step) -> list[Line]:
    """Topmost first: what was asked for, then each layer beneath the edge that led to it."""
    if evidence.target is None or not evidence.target.stack:
        return []
    return list(_Picture(evidence, evidence.target, step).draw())


class _Picture:
    def __init__(self, evidence: Evidence, target: Target, step: Step) -> None:
        case = Case(evidence)
        done = case.steps.of(step)
        way = case.flushes.of(done) if done and done.call and done.syncs else ()
        self._target, self._step = target, step
        self._accounts = {account.level.filesystem.id: account for account in way}
        self._ending = {device.id: account for account in way for device in account.devices}
        self._drawn: set[str] = set()

    def draw(self) -> Iterator[Line]:
        step = self._step
        asked = [counted(step.ops, step.settings.operations or "write"), size(step.bytes), counted(step.syncs, "sync")]
        yield Line(f"fstui asked {', '.join(asked)}" + (f" ({failure(step)})" if step.error else ""))
        yield from self._layer(self._target.stack[0], "", stopped=False)

    def _layer(self, node: Node, lead: str, *, stopped: bool) -> Iterator[Line]:
        self._drawn.add(node.id)
        yield self._edge(node, lead, stopped=stopped)
        stops = node.sync == "stops"
        says = self._says(node, stopped=stopped)
        yield Line(f"{lead}{_name(node)}{'   ' if says else ''}{says}", "dropped" if stops and not stopped else "")
        known = {each.id: each for each in self._target.stack}  # a damaged document names layers that are not in it
        below = [known[name] for name in node.below if name in known and name not in self._drawn]
        for child in below:
            if child.id not in self._drawn:
                yield from self._layer(child, lead + "  " * (len(below) > 1), stopped=stopped or stops)

    def _edge(self, node: Node, lead: str, *, stopped: bool) -> Line:
        seen = self._step.device(node.id)
        if node is self._target.stack[0] or seen is None:
            return Line(f"{lead}{'╳' if stopped else '│'}")
        account = self._ending.get(node.id)
        state, conclusion = _conclusion(account) if account else ("", "")
        words = ", ".join(filter(None, [*self._passed(seen), conclusion]))
        return Line(f"{lead}{'╳' if state == 'dropped' else '│'} {words}", state)

    def _passed(self, seen: DeviceCounters) -> Iterator[str]:
        step = self._step
        if seen.written_bytes is not None:
            share = f" ({ratio(seen.written_bytes / step.bytes)})" if step.bytes else ""
            yield f"{size(seen.written_bytes)}{share}"
        if step.syncs:
            each = f" ({ratio(seen.flushes / step.syncs)} a sync)" if seen.flushes is not None else ""
            yield "flushes not counted" if seen.flushes is None else f"{count(seen.flushes)} flushes{each}"

    def _says(self, node: Node, *, stopped: bool) -> str:
        """What this layer does with a flush."""
        if node.sync == "stops":
            return f"{'·' if stopped else '✗ flush stops here:'} {node.because}"
        account = self._accounts.get(node.id)
        if account is None or account.expected is None:
            return ""
        low, high = account.expected.low, account.expected.high
        each = f"{low:g}" if low == high else f"{low:g} or more" if high == float("inf") else f"{low:g} to {high:g}"
        return f"expects {each} for each sync" if high else "expects no flush here"


def _conclusion(account: FlushAccount) -> tuple[State, str]:
    """What the judge makes of that level."""
    if account.outcome == "missing" and account.expected:
        missing = account.expected.low * account.syncs - account.sent.flushes
        return "dropped", f"✗ {count(missing)} dropped"
    if account.lacks_bytes:
        return "dropped", "✗ bytes missing"
    if account.outcome == "complete":
        return "arrived", "✓ all arrived"
    return ("unknown", "? others write too") if account.others_wrote else ("", "")


def _name(node: Node) -> str:
    if node.layer == "filesystem":
        return f"{node.kind} {node.name}"
    medium = node.medium.class_ if node.medium and node.medium.class_ != "unknown" else ""
    facts = [called(node), node.model or (node.name if node.name != node.id else ""), medium]
    return "  ".join(filter(None, [node.id, ", ".join(dict.fromkeys(filter(None, facts)))]))
