"""Faults that the configuration alone shows, before anything is counted: the rows of ``defects.toml``.

A row names a reading of one layer. If more than one reading decides, the row names one of the conditions below.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.defects import Defect, DefectOutcome, Hit, defects
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.model.host import Process
from fstui.model.quantities import count
from fstui.model.run import Evidence
from fstui.model.storage import Node, Reading
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import (
    has_protected_cache,
    is_cache_on,
    is_hidden_by_controller,
    may_be_protected,
    outlives_power_cut,
    volatile_cache,
)
from fstui.storage.layers.devices.nvme import device_file
from fstui.storage.layers.facts import barriers_off, is_read_only, off_reading
from fstui.storage.layers.stacked import dm, loop

_FEW_COMMITS_PER_SYNC = 0.05
"""If there were at most this many ZIL commits per sync, the syncs committed nothing: with sync=disabled, zil_commit
returns before it increases the counter. Other processes only add commits."""
_WRITE_THROUGH = "write through"
_CACHE_OUTCOMES = (
    "volatile_cache", "unknown_cache", "unknown_controller", "contradicted_cache", "protected_cache", "without_effect",
)  # fmt: skip
"""Outcomes of barriers that are off, by the cache below. If the devices differ, the first outcome applies."""
_MIN_TRIED_SYNCS, _MIN_DIRTY_SYNCS = 2, 2
"""Minimum number of syncs that were tried, and of syncs that left their file dirty, for a conclusion."""


class FoundDefect(NamedTuple):
    defect: Defect
    hit: Hit

    @property
    def outcome(self) -> DefectOutcome:
        return self.defect.outcomes[self.hit.outcome]


class Configuration:
    """The defects of a stack, and the signs that a library or filter stubs the syncs of this process."""

    def __init__(self, evidence: Evidence, stack: Stack, steps: Steps) -> None:
        self._evidence, self._stack, self._steps = evidence, stack, steps

    @cached_property
    def breaks_sync(self) -> bool:
        """Whether the configuration explains missing flushes, so that counting them adds nothing."""
        return bool(self.stub_signs) or any(defect.outcome.verdict == "not-durable" for defect in self.defects)

    @property
    def has_verdict(self) -> bool:
        """Whether the configuration decides the verdict, or shows why there can be none."""
        return self.breaks_sync or any(defect.outcome.verdict for defect in self.defects)

    @cached_property
    def stub_signs(self) -> tuple[str, ...]:
        """A line for each sign that this process cannot sync, so that its steps say nothing about the disk."""
        return tuple(stub_signs(self._evidence.process))

    @cached_property
    def defects(self) -> tuple[FoundDefect, ...]:
        return tuple(FoundDefect(defect, hit) for defect in defects().values() for hit in self._hits(defect))

    def _hits(self, defect: Defect) -> Iterator[Hit]:
        if defect.reading is not None:
            for layer in self._stack.nodes:
                reading = layer.reading(defect.reading) if not defect.kinds or layer.kind in defect.kinds else None
                if reading is None or self._evidence.has_changed(layer.id, reading.what):
                    continue
                for name, outcome in defect.outcomes.items():
                    if reading.value in outcome.values:
                        yield Hit(name, layer, (words.reading(layer, reading),))
        if defect.condition is not None:
            yield from CONDITIONS[defect.condition](self._evidence, self._stack, self._steps)


def stub_signs(process: Process) -> Iterator[str]:
    """Yield a line for each sign that a library or a filter intercepts the syncs of this process."""
    total_left_dirty = sum(left_dirty for _, left_dirty in process.left_dirty.values())
    if process.pipe_fsync_fails is False and not _cleans_pages(process):
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, left_dirty) in process.left_dirty.items():
        # a single dirty file may be due to a write that just completed
        if left_dirty and total_left_dirty >= _MIN_DIRTY_SYNCS:
            yield f"{call}: {left_dirty} of {tried} left their file dirty in memory; the system call leaves none"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: missing on the file that was opened with it (F_GETFL)"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def _cleans_pages(process: Process) -> bool:
    """Return whether each sync that was tried left its file clean.

    With a library that replaces fsync by syncfs(2) or sync(2), or treats EINVAL as success, fsync succeeds even on a
    pipe. Such a library still syncs, and the flushes are counted as usual.
    """
    counts = (process.left_dirty.get(call, (0, 0)) for call in ("fsync", "fdatasync"))
    return all(tried >= _MIN_TRIED_SYNCS and not left_dirty for tried, left_dirty in counts)


def _in_memory(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The stack ends in memory. This is only a note if copies or parity replace what is lost."""
    lost = stack.layers_without_copy(stack.in_memory)
    if not lost and any(kind(node.kind).unsupported_setting(node) for node in stack.nodes):
        return  # the copy may lack the newest writes
    nodes = lost or stack.in_memory
    if nodes:
        kinds = words.join_words(dict.fromkeys(node.name if node.kind == "disk" else node.kind for node in nodes))
        evidence = tuple(map(_memory_line, nodes))
        yield Hit(_memory_outcome(stack, lost), nodes[0], evidence, {"kinds": kinds, "devices": words.devices(nodes)})


def _memory_outcome(stack: Stack, lost: tuple[Node, ...]) -> str:
    if not lost:
        return "copied"
    return "journal_lost" if stack.only_journals(lost) else "lost"


def _memory_line(node: Node) -> str:
    is_declared = node.layer == "block" and not kind(node.kind).in_memory
    return words.medium(node) if is_declared else f"{node.id}: {node.reason or node.kind}"


def _uncommitted(evidence: Evidence, stack: Stack, steps: Steps) -> Iterator[Hit]:
    """The intent log of a ZFS dataset was hardly committed while syncs succeeded.

    The condition applies only if fstui writes to the dataset itself, and no layer above the dataset drops the syncs.
    """
    dataset = next((level.filesystem for level in stack.levels), None)
    if dataset is None or dataset.kind not in {"zfs", "zvol"} or any(stub_signs(evidence.process)):
        return
    if dataset.value("sync") == "disabled" or any(node.reading("volatile") for node in stack.nodes):
        return
    counted = [
        (write_step, counters.commits)
        for write_step in steps.synced
        if (counters := write_step.step.device(dataset.id)) and counters.commits is not None
    ]
    commits, syncs = sum(number for _, number in counted), sum(write_step.syncs for write_step, _ in counted)
    if counted and commits <= _FEW_COMMITS_PER_SYNC * syncs:
        measured = tuple(write_step.step for write_step, _ in counted)
        lines = tuple(
            f"{write_step.step.name}: {count(number)} commits, {count(write_step.syncs)} syncs"
            for write_step, number in counted
        )
        figures = {"commits": count(commits), "syncs": count(syncs), "time": words.time_measured(measured)}
        yield Hit("uncommitted", dataset, lines, figures, steps=measured)


def _barriers_off(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """A filesystem or ZFS volume sent no flushes during the whole run. The caches below decide what that means."""
    readings = ((layer, barriers_off(layer)) for layer in stack.written_layers)
    without_barriers = [
        (layer, reading) for layer, reading in readings if reading and not evidence.has_changed(layer.id, reading.what)
    ]
    uncopied = stack.layers_without_checked_copy(tuple(layer for layer, _ in without_barriers))
    for layer, reading in without_barriers:
        # only devices, because md always claims a cache
        devices = [node for node in stack.layers_to_flush(layer) if stack.is_device(node)]
        yield Hit(
            _cache_outcome(devices) if layer in uncopied else "copied",
            layer,
            (words.reading(layer, reading), *map(_cache_line, devices)),
            {
                "devices_with_cache": words.devices(filter(is_cache_on, devices)),
                "devices_without_cache": words.devices(node for node in devices if is_cache_on(node) is False),
                "lower_devices": words.devices(devices) or "the storage below",
                "barrier_option": _barrier_advice(layer, reading),
                "check_cache": " ".join(dict.fromkeys(words.check_health(node) for node in devices)),
            },
        )


def _cache_outcome(devices: Sequence[Node]) -> str:
    """Return the name of the outcome, by what is known about the caches of the devices below."""
    outcomes = set(map(_outcome_of_device, devices))
    if outcomes == {"protected_cache", "without_effect"}:
        return "unknown_cache"  # only the kernel's setting shows that the other devices have no cache
    return min(outcomes, key=_CACHE_OUTCOMES.index, default="unknown_cache")


def _outcome_of_device(node: Node) -> str:
    is_on = is_cache_on(node)
    kernels_view = node.write_cache or node.value("cache_type") or ""  # before Linux 4.7, only the driver states it
    sends_flushes = kernels_view.startswith("write back")
    if kernels_view and not sends_flushes and (not is_on or outlives_power_cut(node)):
        return "without_effect"
    if outlives_power_cut(node) and is_on is not None:
        return "protected_cache"
    if _is_behind_server(node) or not (is_on or sends_flushes):
        return "unknown_cache"
    if not is_on:
        return "contradicted_cache"
    return "unknown_controller" if is_hidden_by_controller(node) else "volatile_cache"


def _needs_no_flush(node: Node) -> bool:
    # a hypervisor that does not offer flushes may still have a cache
    has_no_cache = _outcome_of_device(node) == "without_effect" and is_cache_on(node) is False
    return outlives_power_cut(node) or (has_no_cache and not off_reading(node, "F_FLUSH"))


def _is_behind_server(node: Node) -> bool:
    """Return whether "write back" only means that a server, or a driver of an unknown kind, accepts flushes.

    The server may still write each request to stable storage before it acknowledges the request.
    """
    layer_kind = kind(node.kind)
    return (layer_kind.networked or not layer_kind.is_known) and not outlives_power_cut(node)


def _barrier_advice(filesystem: Node, barrier: Reading) -> str:
    option = kind(filesystem.kind).barrier_option
    remount = f"mount -o remount,{option} {shlex.quote(filesystem.name)}"
    command = words.command(remount if option else f"echo 0 > {barrier.path}")
    return f"Turn barriers on: {command}. Then run fsync-rate there."


def _cache_line(node: Node) -> str:
    protection = f", {node.medium.reason or node.medium.class_}" if node.medium and has_protected_cache(node) else ""
    report = volatile_cache(node)
    kernels_view = node.write_cache and node.write_cache == "write back"
    if report is None or report.is_on == kernels_view:
        return words.write_cache(node) + protection
    return words.reading(node, report.reading) + protection


def _write_through_override(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """The kernel's setting for a device is "write through" although its cache is on."""
    candidates = (node for node in stack.written_layers if _drops_flushes(node, evidence, stack))
    overridden = [(node, signs) for node in candidates if (signs := list(_contradictions(node, evidence, stack)))]
    uncopied = stack.layers_without_checked_copy(tuple(node for node, _ in overridden))
    for node, contradictions in overridden:
        outcome = _override_outcome([cached_node for _, cached_node in contradictions])
        setting = words.evidence_line(node, "kernel's view", _WRITE_THROUGH, f"/sys/block/{node.id}/queue/write_cache")
        lines = (setting, *(line for line, _ in contradictions))
        yield Hit(outcome if node in uncopied else "copied", node, lines, {"drive": device_file(node)})


def _override_outcome(nodes: Sequence[Node]) -> str:
    cached_nodes = [node for node in nodes if is_cache_on(node) is not None]
    if not cached_nodes:
        return "unread_setting"
    if not all(is_hidden_by_controller(node) or _is_behind_server(node) for node in cached_nodes):
        return "perhaps_protected" if all(map(may_be_protected, cached_nodes)) else "lost"
    return "unknown_server" if any(map(_is_behind_server, cached_nodes)) else "unknown_controller"


def _drops_flushes(node: Node, evidence: Evidence, stack: Stack) -> bool:
    """Return whether the kernel drops flushes that the device needs, during the whole run."""
    is_safe = node in stack.in_memory or outlives_power_cut(node) or kind(node.kind).is_each_write_durable(node)
    is_dropped = node.write_cache == _WRITE_THROUGH and not evidence.has_changed(node.id, "write cache")
    return is_dropped and not (is_safe or _is_only_read(node, evidence) or _only_below_multipath(node, evidence, stack))


def _is_only_read(node: Node, evidence: Evidence) -> bool:
    """Return whether a device is read-only and received no writes. A writable device above it can still send some."""
    all_counters = (step.device(node.id) for step in evidence.steps)
    return is_read_only(node) and not any(counters and counters.written_bytes for counters in all_counters)


def _only_below_multipath(node: Node, evidence: Evidence, stack: Stack) -> bool:
    """Return whether only request-based multipath devices use this path. Their flushes ignore the path's setting."""
    users = [user for user in stack.nodes if node.id in user.below]
    has_changed = any(evidence.has_changed(user.id, "write cache") for user in users)
    keeps_flushes = all(dm.is_request_based(user) and user.write_cache != _WRITE_THROUGH for user in users)
    return bool(users) and keeps_flushes and not has_changed


def _contradictions(node: Node, evidence: Evidence, stack: Stack) -> Iterator[tuple[str, Node]]:
    """Yield a line of evidence for each cache that is on despite the kernel's setting, and the layer with the cache."""
    report = volatile_cache(node)
    if report is not None and report.is_on:
        yield words.reading(node, report.reading), node
    lower_layers = [
        lower
        for lower in stack.layers_to_flush(node)
        if lower.write_cache == "write back"
        and is_cache_on(lower)
        and not outlives_power_cut(lower)
        and not evidence.has_changed(lower.id, "write cache")
    ]
    yield from ((words.write_cache(lower), lower) for lower in lower_layers)
    if not lower_layers and stack.backing_filesystems(node) and not stack.in_memory and not loop.uses_direct_io(node):
        yield f"{node.id}: its writes stay in the page cache until a flush (no direct-io)", node


def _deleted_file(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The file of a loop device was deleted, and no other layer has the data."""
    deleted = [(node, reading) for node in stack.nodes if (reading := loop.deleted_backing_file(node))]
    lost = stack.layers_without_copy(tuple(node for node, _ in deleted))
    for node, reading in deleted:
        if node in lost:
            yield Hit("perhaps_deleted", node, (words.reading(node, reading),))


def _syncs_not_sent(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """A filesystem or a device is configured to acknowledge syncs without forwarding them."""
    facts = ((node, kind(node.kind).skipped_sync(node)) for node in stack.nodes)
    skipping = [(node, skipped) for node, skipped in facts if skipped]
    uncopied = stack.layers_without_checked_copy(tuple(node for node, _ in skipping if node.layer != "filesystem"))
    for node, skipped in skipping:
        if node.layer == "filesystem" or node in uncopied:
            fields = ("option_verb", "option", "skipped_request", "effect", "undo")
            texts = {name: getattr(skipped, name) for name in fields}
            devices = [device for device in stack.layers_to_flush(node) if stack.is_device(device)]
            caches = map(_cache_line, devices) if skipped.flushed_later else ()
            evidence = (words.reading(node, skipped.reading), *caches)
            outcome = "skipped"
            if skipped.flushed_later:
                outcome = "late_but_safe" if devices and all(map(_needs_no_flush, devices)) else "late"
            yield Hit(outcome, node, evidence, {**texts, "lower_devices": words.devices(devices)})


CONDITIONS: Mapping[str, Callable[[Evidence, Stack, Steps], Iterator[Hit]]] = {
    "in_memory": _in_memory,
    "uncommitted": _uncommitted,
    "barriers_off": _barriers_off,
    "write_through_override": _write_through_override,
    "deleted_file": _deleted_file,
    "syncs_not_sent": _syncs_not_sent,
}
"""The conditions that ``defects.toml`` names. The docstring of each function states its condition."""
