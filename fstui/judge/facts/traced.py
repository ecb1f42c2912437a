"""What the kernel's trace bears witness of: which flushes were ours, at the layer that a filesystem hands them to.

A counter tells how many flushes a device did, the trace who asked for them. At the layer that the filesystem hands its
bios to, each is told by the thread that asked, whether that layer counts flushes or not (dm, md, a partition), and FUA
writes are seen, too; so there a sync is a flush before it, or a write marked FUA, whatever the device makes of it.

- What our own threads asked for is ours, exactly: as much as is expected proves, whoever else writes.
- What kernel threads asked for may be ours: a journal's thread commits for us, a cgroup's io limit has our bios sent by
  a worker (``blk_throtl_dispatch_work_fn``). So it accuses nobody, and proves nothing.
- What other programs asked for cannot be ours where a filesystem has the caller ask (an overwrite with fdatasync on
  ext4 and XFS). Elsewhere one commit serves all who wait for it, and theirs may have carried ours.

Only of the topmost level: beneath a loop device, and beneath most layers, workers ask for everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.composition import Composition, What, below_within, counters_of
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep
from fstui.model.counters import DeviceTrace
from fstui.model.quantities import count
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.flushes import ExpectedFlushes, Range

PASSED_ON = 0.9
"""A layer beneath that got less than this share of our flushes was not handed them."""
TRACE = "the kernel's trace"


class Traced(NamedTuple):
    """What the trace saw one filesystem hand down in one step, flushes and FUA writes alike."""

    devices: tuple[Node, ...]
    """Those that it handed them to."""
    expected: Range
    """For each sync."""
    least: float
    """That are ours for certain."""
    most: float
    """That can be ours at the most."""
    others: int
    """Flushes that other programs asked the same devices for."""


def traced(stack: Stack, level: Level, done: SyncStep, expected: ExpectedFlushes | None) -> Traced | None:
    """None where the step was not traced, or flushes end on the way: the kernel strips them before they are seen."""
    seen, handed_to, told_at = _seen(done.step), *_handed_to(stack, level)
    passes = all(stack.drops_flushes(level, device) is False for device in level.devices)
    known = told_at <= seen.keys() and len(told_at) == len(handed_to) > 0
    if expected is None or done.sync is None or not (known and passes):
        return None
    what: What = "forced" if done.forced and level.claims_fua is not False else "flushes"
    by_caller = kind(level.filesystem.kind).caller_asks(level.filesystem, done.sync)
    ours = _handed_down(stack, level, done.step, seen, _ours)
    maybe_ours = _handed_down(stack, level, done.step, seen, _maybe_ours if by_caller else _anybody_s)
    devices = ours.counting(what)
    return Traced(
        devices=devices,
        expected=expected.plain,
        least=ours.arrived(what).low,
        most=maybe_ours.arrived(what).low,
        others=sum(seen[_told_at(stack, node).id].asked_by_others or 0 for node in devices),
    )


class Withheld(NamedTuple):
    """A layer that we asked, and one beneath it that was asked by nobody."""

    above: Node
    below: Node
    asked: int
    passed_on: int

    @property
    def because(self) -> str:
        """The evidence in a line."""
        asked, passed_on = count(self.asked), count(self.passed_on)
        return (
            f"{self.above.id}: fstui asked it for {asked} flushes, {self.below.id} was asked for {passed_on} ({TRACE})"
        )


def withheld(stack: Stack, level: Level, done: SyncStep) -> Iterator[Withheld]:
    """Where flushes that we asked for went no further, though a layer beneath holds what was written."""
    seen = _seen(done.step)
    composed = _handed_down(stack, level, done.step, seen, _ours)
    for above in level.path:
        asked = _ours(seen[above.id]) if above.id in seen else 0
        for edge in composed.taking_part(above, "forced" if done.forced else "flushes") if asked >= MIN_SYNCS else ():
            told = seen.get(_told_at(stack, edge.node).id)
            if told and _anybody_s(told) < PASSED_ON * asked:
                yield Withheld(above, edge.node, asked, _anybody_s(told))


def of_ours(stack: Stack, level: Level, done: SyncStep) -> str | None:
    """A line of evidence: how many of our own flushes were seen, where that is fewer than there were syncs."""
    seen, handed_to, told_at = _seen(done.step), *_handed_to(stack, level)
    found = [seen[name] for name in told_at if name in seen]
    ours = sum(map(_ours, found))
    if not found or ours >= PASSED_ON * done.syncs:
        return None
    where = words.devices(handed_to)
    theirs = sum(each.asked_by_others or 0 for each in found)
    return (
        f"{done.step.name}: {count(done.syncs)} syncs, {count(ours)} flushes by fstui at {where}, {count(theirs)} by "
        f"others ({TRACE})"
    )


def _seen(step: Step) -> dict[str, DeviceTrace]:
    """By device; those of which no event was lost."""
    return {found.device: found for found in step.trace or () if not found.lost}


def _handed_to(stack: Stack, level: Level) -> tuple[list[Node], set[str]]:
    """What a filesystem hands its bios to, and the devices that the trace tells of them."""
    nodes = [node for node in stack.children(level.filesystem) if node in level.path]
    return nodes, {_told_at(stack, node).id for node in nodes}


def _handed_down(
    stack: Stack, level: Level, step: Step, seen: Mapping[str, DeviceTrace], number: Callable[[DeviceTrace], int]
) -> Composition:
    def asked(node: Node) -> int | None:
        told = seen.get(_told_at(stack, node).id)
        return number(told) if told else None

    return Composition(level.filesystem, below_within(stack, level), lambda node: counters_of(node, step), asked)


def _told_at(stack: Stack, node: Node) -> Node:
    """Bios for a partition are told of as the whole disk's."""
    return next(iter(stack.children(node)), node) if node.kind == "partition" else node


def _ours(found: DeviceTrace) -> int:
    return (found.asked_by_us or 0) + (found.fua_writes_by_us or 0)


def _maybe_ours(found: DeviceTrace) -> int:
    if found.asked_by_kernel_threads is None:  # in a pid namespace they are among the others
        return _anybody_s(found)
    return (found.asked_by_us or 0) + found.asked_by_kernel_threads + (found.fua_writes or 0)


def _anybody_s(found: DeviceTrace) -> int:
    asked = (found.asked_by_us, found.asked_by_kernel_threads, found.asked_by_others, found.fua_writes)
    return sum(number or 0 for number in asked)
