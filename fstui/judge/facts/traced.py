"""Find out which flushes are fstui's own, from the kernel's trace.

The trace shows which thread requested each flush or FUA write, at the layer to which a filesystem submits its bios.
That layer need not count flushes. Below it, and below a loop device, worker threads send all requests.

- Flushes that fstui's own threads requested are fstui's own. If there are as many as expected, they all arrived.
- Flushes of kernel threads may be fstui's own: a journal thread commits for every process, and a worker sends bios
  that a cgroup's io limit delayed (``blk_throtl_dispatch_work_fn``). They prove nothing in either direction.
- Flushes of other programs are not fstui's own on a filesystem whose caller requests the flush (an overwrite with
  fdatasync on ext4 and XFS). On other filesystems one commit serves every waiting program, so another program may
  have requested the flush that served fstui.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from fstui.judge.facts.composition import Composition, Quantity
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep
from fstui.model.counters import DeviceTrace
from fstui.model.quantities import count
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.flushes import ExpectedFlushes, Range

PASSED_ON = 0.9
"""If a layer received less than this share of fstui's flushes, the layer above did not forward them."""
TRACE = "the kernel's trace"


class Traced(NamedTuple):
    devices: tuple[Node, ...]
    """The devices to which the filesystem submitted the flushes."""
    expected: Range
    own: Range
    """``low``: the flushes that fstui's threads requested. ``high``: all that may be fstui's own."""
    others: int
    """Flushes that other programs requested of the same devices."""
    kernel_threads: int
    """Flushes that kernel threads requested: a journal, the worker of a loop device, writeback. They may be fstui's own
    or those of other programs."""


def traced(stack: Stack, level: Level, done: SyncStep, expected: ExpectedFlushes | None) -> Traced | None:
    """Return what the trace attributes to fstui; None without a trace, or if the kernel drops flushes before it."""
    seen = _seen(done.step)
    first = [node for node in stack.children(level.filesystem) if node in level.path]
    traced_at = {_traced_at(stack, node).id for node in first}
    all_seen = bool(first) and traced_at <= seen.keys()
    distinct = len(traced_at) == len(first)  # two partitions cannot be told apart in the trace of their disk
    passes = all(stack.drops_flushes(level, device) is False for device in level.devices)
    if expected is None or done.sync is None or not (all_seen and distinct and passes):
        return None
    what: Quantity = "fua" if done.writes_fua and level.claims_fua is not False else "flushes"
    by_caller = kind(level.filesystem.kind).caller_sends_flushes(level.filesystem, done.sync)
    own = _composed(stack, level, done.step, seen, _own)
    possible = _composed(stack, level, done.step, seen, _possibly_own if by_caller else _all)
    devices = own.counting(what)
    return Traced(
        devices=devices,
        expected=expected.plain,
        own=Range(own.arrived(what).low, possible.arrived(what).low),
        others=sum(seen[_traced_at(stack, node).id].asked_by_others or 0 for node in devices),
        kernel_threads=sum(seen[_traced_at(stack, node).id].asked_by_kernel_threads or 0 for node in devices),
    )


def requested_by_others(found: Iterable[Traced]) -> str:
    """Return who else requested flushes: ``other programs sent 78 and kernel threads sent 714``; empty if none did."""
    seen = list(found)
    numbers = {
        "other programs": sum(one.others for one in seen),
        "kernel threads": sum(one.kernel_threads for one in seen),
    }
    return " and ".join(f"{who} sent {count(number)}" for who, number in numbers.items() if number)


class Withheld(NamedTuple):
    """A layer that received fstui's flushes, and a layer below that did not."""

    above: Node
    below: Node
    received: int
    passed_on: int

    @property
    def because(self) -> str:
        received, passed_on = count(self.received), count(self.passed_on)
        return f"{self.above.id}: fstui requested {received} flushes, {self.below.id} received {passed_on} ({TRACE})"


def withheld(stack: Stack, level: Level, done: SyncStep) -> Iterator[Withheld]:
    """Yield each layer that received fstui's flushes and did not forward them to a layer below that holds its data."""
    seen = _seen(done.step)
    composed = _composed(stack, level, done.step, seen, _own)
    for above in level.path:
        received = _own(seen[above.id]) if above.id in seen else 0
        if received < MIN_SYNCS:
            continue
        for edge in composed.taking_part(above, "fua" if done.writes_fua else "flushes"):
            trace = seen.get(_traced_at(stack, edge.node).id)
            if trace and _all(trace) < PASSED_ON * received:
                yield Withheld(above, edge.node, received, _all(trace))


def _seen(step: Step) -> dict[str, DeviceTrace]:
    """Return the traces by device, without those that lost events."""
    return {trace.device: trace for trace in step.trace or () if not trace.lost}


def _composed(
    stack: Stack, level: Level, step: Step, seen: Mapping[str, DeviceTrace], number: Callable[[DeviceTrace], int]
) -> Composition:
    """Return a composition of the traced requests, of which ``number`` counts those that matter."""

    def requested(node: Node) -> int | None:
        trace = seen.get(_traced_at(stack, node).id)
        return number(trace) if trace else None

    return Composition(stack, level, step, requested)


def _traced_at(stack: Stack, node: Node) -> Node:
    """Return the whole disk for a partition: the kernel traces a partition's bios there."""
    return next(iter(stack.children(node)), node) if node.kind == "partition" else node


def _own(found: DeviceTrace) -> int:
    """Return the flushes and FUA writes that fstui's threads requested."""
    return (found.asked_by_us or 0) + (found.fua_writes_by_us or 0)


def _possibly_own(found: DeviceTrace) -> int:
    if found.asked_by_kernel_threads is None:  # in a pid namespace, kernel threads count as others
        return _all(found)
    # FUA writes are counted as fstui's or not: the rest may be a kernel thread's, such as a journal's
    return (found.asked_by_us or 0) + found.asked_by_kernel_threads + (found.fua_writes or 0)


def _all(found: DeviceTrace) -> int:
    """Return the flushes and FUA writes of all processes."""
    requested = (found.asked_by_us, found.asked_by_kernel_threads, found.asked_by_others, found.fua_writes)
    return sum(number or 0 for number in requested)
