"""Find in the kernel's trace which flushes are fstui's own.

The trace shows which thread requested each flush or FUA write, at the layer to which a filesystem submits its bios.
That layer need not count flushes. Below that layer, and below a loop device, worker threads send all requests.

- Flushes that fstui's own threads requested are fstui's own. If there are as many as expected, they all arrived.
- Flushes of kernel threads may be fstui's own, because a journal thread commits for every process, and a worker sends
  bios that a cgroup's I/O limit delayed (``blk_throtl_dispatch_work_fn``). Such flushes prove nothing in either
  direction.
- Flushes of other programs are not fstui's own if the filesystem lets each caller request its own flush (an overwrite
  with fdatasync on ext4 and XFS). On other filesystems one commit serves every waiting program, so another program may
  have requested the flush that served fstui.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fstui.judge.facts.composition import Composition, Quantity
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import WriteStep
from fstui.model.counters import DeviceTrace
from fstui.model.quantities import count
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.flushes import ExpectedFlushes, Range

TRACE = "the kernel's trace"


class TracedFlushes(NamedTuple):
    """The flushes and FUA writes in the kernel's trace of one step or its traced part, at the topmost level."""

    devices: tuple[Node, ...]
    """The devices to which the filesystem submitted the flushes."""
    syncs: int
    """The syncs in the traced part of the step."""
    expected: Range
    """Flushes and FUA writes that are expected per sync."""
    own: Range
    """``low``: the flushes that fstui's threads requested. ``high``: all flushes that may be fstui's own."""
    others: int
    """Flushes that other programs requested of the same devices."""
    kernel_threads: int
    """Flushes that kernel threads requested (a journal, the worker of a loop device, writeback) for fstui or for other
    programs."""


def traced_flushes(
    stack: Stack, level: Level, write_step: WriteStep, expected: ExpectedFlushes | None
) -> TracedFlushes | None:
    """Return what the trace attributes to fstui; None if it is missing or ambiguous, or if the kernel drops flushes."""
    traces = {trace.device: trace for trace in write_step.step.trace or () if not trace.lost}

    def composition(requests_in: Callable[[DeviceTrace], int]) -> Composition:
        """Combine the requests that ``requests_in`` counts in the trace of a device."""

        def trace_count(node: Node) -> int | None:
            trace = traces.get(_traced_device(stack, node).id)
            return requests_in(trace) if trace else None

        return Composition(stack, level, write_step.step, trace_count)

    topmost = [node for node in stack.children(level.filesystem) if node in level.path]
    traced_ids = {_traced_device(stack, node).id for node in topmost}
    is_complete = bool(topmost) and traced_ids <= traces.keys()
    is_distinct = len(traced_ids) == len(topmost)  # the trace of a disk does not distinguish partitions
    forwards = all(stack.drops_flushes(level, device) is False for device in level.devices)
    if expected is None or write_step.sync is None or not (is_complete and is_distinct and forwards):
        return None
    quantity: Quantity = "fua_writes" if write_step.writes_fua and level.claims_fua is not False else "flushes"
    by_caller = kind(level.filesystem.kind).syncing_thread_sends_flushes(level.filesystem, write_step.sync)
    own, possible = composition(_own_requests), composition(_possibly_own_requests if by_caller else _all_requests)
    devices = own.counting_layers(quantity)
    device_traces = [traces[_traced_device(stack, node).id] for node in devices]
    return TracedFlushes(
        devices=devices,
        syncs=write_step.traced_syncs,
        expected=expected.plain,
        own=Range(own.arrived_range(quantity).low, possible.arrived_range(quantity).low),
        others=sum(trace.requested_by_others or 0 for trace in device_traces),
        kernel_threads=sum(trace.requested_by_kernel_threads or 0 for trace in device_traces),
    )


def other_requesters(all_flushes: Iterable[TracedFlushes]) -> str:
    """Return a clause such as ``other programs sent 78 and kernel threads sent 714``; empty if neither sent any."""
    numbers = {"other programs": 0, "kernel threads": 0}
    for flushes in all_flushes:
        numbers["other programs"] += flushes.others
        numbers["kernel threads"] += flushes.kernel_threads
    return " and ".join(f"{who} sent {count(number)}" for who, number in numbers.items() if number)


def _traced_device(stack: Stack, node: Node) -> Node:
    """Return the device where the kernel traces the bios of ``node``: for a partition, the whole disk."""
    return next(iter(stack.children(node)), node) if node.kind == "partition" else node


def _own_requests(trace: DeviceTrace) -> int:
    return (trace.requested_by_us or 0) + (trace.fua_writes_by_us or 0)


def _possibly_own_requests(trace: DeviceTrace) -> int:
    if trace.requested_by_kernel_threads is None:  # an earlier version counted them as other programs in a container
        return _all_requests(trace)
    # FUA writes of all processes, because a kernel thread such as a journal may send them on behalf of fstui
    return (trace.requested_by_us or 0) + trace.requested_by_kernel_threads + (trace.fua_writes or 0)


def _all_requests(trace: DeviceTrace) -> int:
    requested = (trace.requested_by_us, trace.requested_by_kernel_threads, trace.requested_by_others, trace.fua_writes)
    return sum(number or 0 for number in requested)
