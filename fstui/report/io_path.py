"""Draw the stack: at the top what fstui requested, and below it what reached each layer.

This module only shows the conclusions of the judge.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from fstui.judge import Case, words
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.step_counts import StepCounts
from fstui.judge.facts.traced import TracedFlushes, other_requesters
from fstui.model.counters import DeviceCounters
from fstui.model.quantities import count, counted, ratio, size
from fstui.model.run import Evidence, Run
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from fstui.report.figures import failure
from fstui.report.findings import deciding_step
from fstui.report.sections import Cell, Section
from fstui.report.stack import kind_label

State = Literal["", "arrived", "dropped", "unknown"]
"""What happened to the syncs; empty if a line says nothing about the syncs."""


def title(step: Step) -> str:
    return f"I/O path: {step.name}"


def shown_step(run: Run) -> Step | None:
    """Return the step whose I/O path is shown with the verdict."""
    measured = tuple(step for step in run.steps if step.settings.in_scenarios)  # not a power-cut test
    return deciding_step(replace(run, steps=measured or run.steps))


def section(run: Run) -> Section:
    step = shown_step(run)
    drawn = lines(run, step) if step else ()
    return Section(title(step), drawn=tuple(drawn)) if step and drawn else Section()


def lines(evidence: Evidence, step: Step) -> list[Cell]:
    """Return the drawing from the top: the requests, then for each layer the edge that leads to it and its name."""
    if evidence.target is None or not evidence.target.stack:
        return []
    return list(_Drawing(evidence, evidence.target, step).draw())


class _Drawing:
    def __init__(self, evidence: Evidence, target: Target, step: Step) -> None:
        case = Case(evidence)
        judged = case.steps.as_write_step(step)
        accounts = case.flushes.accounts(judged) if judged and judged.sync_method and judged.syncs else ()
        self._target, self._step = target, step
        self._accounts_by_filesystem = {account.level.filesystem.id: account for account in accounts}
        self._accounts_by_device = {device.id: account for account in accounts for device in account.devices}
        self._traced = {
            account.trace.devices[0].id: (account, account.trace)
            for account in accounts
            if account.arrival.trace and account.trace and len(account.trace.devices) == 1
        }
        self._cached_above = {
            account.level.filesystem.id
            for above, account in pairwise(accounts)
            if account.lacks_bytes and above.expected and not above.expected.high
        }
        """Filesystems that received few bytes because no flush reached the device above them, whose file they hold."""
        self._counts = StepCounts(case)
        self._others_wrote = any(account.others_wrote for account in accounts)
        incomplete = any(account.outcome == "missing" or account.lacks_bytes for account in accounts)
        self._stubbed = incomplete and bool(case.configuration.stub_signs)
        self._libraries = ", ".join(Path(library.value).name for library in evidence.process.preloads)
        self._drawn: set[str] = set()

    def draw(self) -> Iterator[Cell]:
        step = self._step
        requested = [counted(step.ops, (step.settings.operation_name or "writes").removesuffix("s"))]
        if step.bytes or not step.settings.operation_name:  # fstui does not know what a database writes
            requested += [size(step.bytes), counted(step.syncs, "sync")]
        yield Cell(f"fstui requested {', '.join(requested)}" + (f" ({failure(step)})" if step.error else ""))
        yield from self._layer(self._target.stack[0], "", stopped=False)

    def _layer(self, node: Node, indent: str, *, stopped: bool) -> Iterator[Cell]:
        """Draw a layer and all layers below it. ``stopped``: a layer above drops the flushes."""
        self._drawn.add(node.id)
        yield self._edge(node, indent, stopped=stopped)
        stops = node.sync == "stops"
        text = self._expectation(node, stopped=stopped)
        state: State = "dropped" if stops and not stopped else ""
        yield Cell(f"{indent}{_name(node)}{'   ' if text else ''}{text}", style=state)
        layers = {layer.id: layer for layer in self._target.stack}  # a damaged document may name missing layers
        children = [layers[name] for name in node.below if name in layers and name not in self._drawn]
        for child in children:
            if child.id not in self._drawn:
                child_indent = "  " if len(children) > 1 else ""
                yield from self._layer(child, indent + child_indent, stopped=stopped or stops)

    def _edge(self, node: Node, indent: str, *, stopped: bool) -> Cell:
        counters = self._step.device(node.id)
        if node is self._target.stack[0] and self._stubbed:
            return Cell(f"╳ ✗ syncs intercepted by {self._libraries or 'a library or a filter'}", style="dropped")
        if node is self._target.stack[0] or counters is None:
            cached = " the data may still be in the page cache" if node.id in self._cached_above else ""
            return Cell(f"{indent}{'╳' if stopped else '│'}{cached}")
        account = self._accounts_by_device.get(node.id)
        state, conclusion = _conclusion(account) if account and self._is_conclusive(account, node) else ("", "")
        traced_account, traced = self._traced.get(node.id, (None, None))
        if traced_account and traced and (other_requests := other_requesters([traced])):
            text = f"{_own_flushes_text(traced_account, traced, conclusion)}; {other_requests}"
        elif self._others_wrote:
            text = ", ".join([*self._arrivals(counters, node, shares=False), conclusion or "of all processes"])
        else:
            text = ", ".join(filter(None, [*self._arrivals(counters, node), conclusion]))
        return Cell(f"{indent}{'╳' if stopped or state == 'dropped' else '│'} {text}", style=state)

    def _is_conclusive(self, account: FlushAccount, device: Node) -> bool:
        """Return whether the account shows what happened to the syncs at this device."""
        cached = account.level.filesystem.id in self._cached_above
        return device in account.reached_devices and not cached and not self._stubbed

    def _arrivals(self, counters: DeviceCounters, node: Node, *, shares: bool = True) -> Iterator[str]:
        """Yield the bytes and flushes that reached a device. ``shares``: also as shares of what fstui requested."""
        step = self._step
        if counters.written_bytes is not None:
            share = f" ({ratio(counters.written_bytes / step.bytes)})" if step.bytes and shares else ""
            if share and self._counts.includes_other_bytes(counters.written_bytes, [node], step):
                share = " of all processes"
            yield f"{size(counters.written_bytes)}{share}"
        if step.syncs:
            flushes = counters.flushes
            unit = "transaction" if step.settings.operation_name else "sync"
            share = f" ({ratio(flushes / step.syncs)} per {unit})" if flushes is not None and shares else ""
            yield "flushes not counted" if flushes is None else f"{counted(flushes, 'flush')}{share}"

    def _expectation(self, node: Node, *, stopped: bool) -> str:
        """Return how many flushes are expected below this layer, or why none pass."""
        if node.sync == "stops":
            return f"{'·' if stopped else '✗ passes no flushes on:'} {node.reason}"
        account = self._accounts_by_filesystem.get(node.id)
        if account is None or account.expected is None or self._stubbed:
            return ""
        flushes_text = words.expected_text(account.expected)
        return f"expects {flushes_text} per sync" if account.expected.high else "expects no flush here"


def _own_flushes_text(account: FlushAccount, traced: TracedFlushes, conclusion: str) -> str:
    """Return fstui's own flushes according to the trace: ``✓ 500 of 500 flushes arrived``."""
    low, high = traced.expected
    expected = low * traced.syncs
    out_of = f" of {count(expected)}" if low == high and traced.own.low <= expected else ""
    own_flushes = f"{count(traced.own.low)}{out_of} {'' if traced.syncs == account.syncs else 'traced '}flushes"
    if account.outcome == "complete":
        return f"✓ {own_flushes} arrived"
    return f"{own_flushes} by fstui, {conclusion}" if conclusion else f"{own_flushes} by fstui"


def _conclusion(account: FlushAccount) -> tuple[State, str]:
    if account.outcome == "missing" and account.expected:
        dropped = account.expected.low * account.arrival.syncs - account.arrival.flushes
        return "dropped", f"✗ {count(dropped)} dropped"
    if account.lacks_bytes:
        return "dropped", "✗ bytes missing"
    if account.outcome == "complete":
        return "arrived", "✓ all arrived"
    no_flush_arrived = account.counted is not None and account.counted.high == 0
    return ("unknown", "? other processes also wrote") if account.others_wrote and not no_flush_arrived else ("", "")


def _name(node: Node) -> str:
    if node.layer == "filesystem":
        return f"{node.kind} {node.name}"
    medium = node.medium.class_ if node.medium and node.medium.class_ != "unknown" else ""
    facts = [kind_label(node), node.model or (node.name if node.name not in node.id else ""), medium]
    name = node.name if node.layer == "file" else node.id
    return "  ".join(filter(None, [name, ", ".join(dict.fromkeys(filter(None, facts)))]))
