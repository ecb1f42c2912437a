"""Faults that the configuration alone shows, before anything is counted: the rows of ``defects.toml``.

A row names a reading of one layer, or one of the conditions below if more than one reading decides.
"""

from __future__ import annotations

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
    has_cache,
    has_protected_cache,
    is_hidden_by_controller,
    may_be_protected,
    may_outlive_power_cut,
    outlives_power_cut,
    volatile_cache,
)
from fstui.storage.layers.facts import barriers_off, is_read_only, off_reading
from fstui.storage.layers.stacked import dm, loop

_FEW_COMMITS = 0.05
"""With at most this many ZIL commits per sync, syncs did not commit: with sync=disabled, zil_commit returns before it
counts. Other processes only add commits."""
_THROUGH = "write through"
_MIN_TRIED, _MIN_LEFT = 2, 2
"""Minimum number of syncs that were tried, and of those that left their file dirty, to conclude anything from them."""


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
        return bool(self.stub_signs) or any(found.outcome.verdict == "not-durable" for found in self.defects)

    @property
    def has_verdict(self) -> bool:
        """Whether the configuration decides the verdict, or shows why there can be none."""
        return self.breaks_sync or any(found.outcome.verdict for found in self.defects)

    @cached_property
    def stub_signs(self) -> tuple[str, ...]:
        """A line for each sign that this process cannot sync, so that its steps say nothing about the disk."""
        return tuple(stub_signs(self._evidence.process))

    @cached_property
    def defects(self) -> tuple[FoundDefect, ...]:
        return tuple(FoundDefect(defect, hit) for defect in defects().values() for hit in self._hits(defect))

    def _hits(self, defect: Defect) -> Iterator[Hit]:
        if defect.reading is not None:
            yield from self._by_reading(defect, defect.reading)
        if defect.condition is not None:
            yield from CONDITIONS[defect.condition](self._evidence, self._stack, self._steps)

    def _by_reading(self, defect: Defect, what: str) -> Iterator[Hit]:
        for layer in self._stack.nodes:
            reading = layer.reading(what) if not defect.kinds or layer.kind in defect.kinds else None
            if reading is None or self._evidence.has_changed(layer.id, what):
                continue
            for name, outcome in defect.outcomes.items():
                if reading.value in outcome.values:
                    yield Hit(name, layer, (words.reading(layer, reading),))


def stub_signs(process: Process) -> Iterator[str]:
    """Yield a line for each sign that something answers the syncs of this process instead of the kernel."""
    all_left = sum(left for _, left in process.left_dirty.values())
    if process.pipe_fsync_fails is False and not _cleans_pages(process):
        yield "fsync of a pipe: succeeded; the kernel refuses it with EINVAL"
    for call, (tried, left) in process.left_dirty.items():
        if left and all_left >= _MIN_LEFT:  # a single one may be a write that just completed
            yield f"{call}: {left} of {tried} left their file dirty in memory; the system call leaves none"
    if process.dsync_flag_kept is False:
        yield "O_DSYNC: missing on the file that was opened with it (F_GETFL)"
    for library in process.preloads:
        yield f"preloaded: {library.value} ({library.path})"


def _cleans_pages(process: Process) -> bool:
    """Return whether each sync that was tried left its file clean.

    A library that replaces fsync by syncfs(2) or sync(2), or treats EINVAL as success, also succeeds on a pipe. It
    still syncs, and its flushes are counted like any other.
    """
    counts = (process.left_dirty.get(call, (0, 0)) for call in ("fsync", "fdatasync"))
    return all(tried >= _MIN_TRIED and not left for tried, left in counts)


def _in_memory(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The stack ends in memory. It is a note if copies or parity replace what is lost."""
    lost = stack.without_copy(stack.in_memory)
    found = lost or stack.in_memory
    if found:
        kinds = words.listed(dict.fromkeys(node.name if node.kind == "disk" else node.kind for node in found))
        because = tuple(map(_why_memory, found))
        yield Hit("lost" if lost else "copied", found[0], because, {"kinds": kinds, "devices": words.devices(found)})


def _why_memory(node: Node) -> str:
    by_medium = node.layer == "block" and not kind(node.kind).in_memory
    return words.medium(node) if by_medium else f"{node.id}: {node.because or node.kind}"


def _uncommitted(evidence: Evidence, stack: Stack, steps: Steps) -> Iterator[Hit]:
    """The intent log of a ZFS dataset was hardly committed while syncs succeeded.

    This holds only if the program writes to the dataset itself, and nothing above it drops the syncs.
    """
    dataset = next((level.filesystem for level in stack.levels), None)
    if dataset is None or dataset.kind not in {"zfs", "zvol"} or any(stub_signs(evidence.process)):
        return
    if dataset.value("sync") == "disabled" or any(node.reading("volatile") for node in stack.nodes):
        return
    counted = ((done, done.step.device(dataset.id)) for done in steps.synced)
    found = [(done, each.commits) for done, each in counted if each and each.commits is not None]
    commits, syncs = sum(number for _, number in found), sum(done.syncs for done, _ in found)
    if found and commits <= _FEW_COMMITS * syncs:
        measured = [done.step for done, _ in found]
        yield Hit(
            "uncommitted",
            dataset,
            tuple(f"{done.step.name}: {count(number)} commits, {count(done.syncs)} syncs" for done, number in found),
            {"commits": count(commits), "syncs": count(syncs), "time": words.time_measured(measured)},
            steps=tuple(dict.fromkeys(step.name for step in measured)),
        )


def _barriers_off(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """A filesystem or ZFS volume sent no flushes during the whole run. The caches below decide what that means."""
    found = ((layer, barriers_off(layer)) for layer in stack.written)
    off = [(layer, reading) for layer, reading in found if reading and not evidence.has_changed(layer.id, reading.what)]
    stale = stack.without_checked_copy(tuple(layer for layer, _ in off))
    for layer, reading in off:
        below = [node for node in stack.flushed_below(layer) if stack.is_device(node)]  # md always claims a cache
        yield Hit(
            _cache_outcome(below) if layer in stale else "copied",
            layer,
            (words.reading(layer, reading), *map(_cache_line, below)),
            {
                "on": words.devices(filter(_is_on, below)),
                "off": words.devices(filter(_is_off, below)),
                "below": words.devices(below) or "the storage below",
                "barrier_option": _barriers_on(layer, reading),
            },
        )


def _is_on(node: Node) -> bool:
    return bool(has_cache(node) or _reported_cache(node))


def _is_off(node: Node) -> bool:
    return has_cache(node) is False and not _is_on(node)


def _cache_outcome(below: Sequence[Node]) -> str:
    """Return the name of the outcome, by what is known about the caches of the devices below."""
    on, off = list(filter(_is_on, below)), list(filter(_is_off, below))
    if not all(may_outlive_power_cut(node) or _behind_server(node) for node in on):
        return "volatile_cache"
    if any(map(_behind_server, on)):
        return "unknown_cache"
    if any(map(is_hidden_by_controller, on)):
        return "unknown_controller"
    if on:
        return "protected_cache"
    # a host that does not offer flushes may have a cache
    all_off = below and len(off) == len(below) and not any(off_reading(node, "F_FLUSH") for node in off)
    return "no_cache" if all_off else "unknown_cache"


def _behind_server(node: Node) -> bool:
    """Return whether "write back" only means that a server, or a driver of an unknown kind, takes flushes.

    It may still write each request to stable storage before it answers.
    """
    row = kind(node.kind)
    return (row.networked or not row.known) and not outlives_power_cut(node)


def _barriers_on(filesystem: Node, barrier: Reading) -> str:
    option = kind(filesystem.kind).barrier_option
    if option is None:
        return f"Turn barriers on: 'echo 0 > {barrier.path}'. Then run fsync-rate there."
    command = f"mount -o remount,{option} {shlex.quote(filesystem.name)}"
    return f"Turn barriers on: {words.command(command)}. Then run fsync-rate there."


def _cache_line(node: Node) -> str:
    protected = f", {node.medium.because or node.medium.class_}" if node.medium and has_protected_cache(node) else ""
    fact = volatile_cache(node) if node.write_cache is None else None
    reading = _reported_cache(node) if not has_cache(node) else None
    reading = reading or (fact.reading if fact else None)
    return (words.reading(node, reading) if reading else words.write_cache(node)) + protected


def _reported_cache(node: Node) -> Reading | None:
    fact = volatile_cache(node)
    return fact.reading if fact and fact.is_on else None


def _write_through_override(evidence: Evidence, stack: Stack, _: Steps) -> Iterator[Hit]:
    """The kernel's setting for a device is "write through" although its cache is on."""
    candidates = (node for node in stack.written if _drops_flushes(node, evidence, stack))
    found = [(node, signs) for node in candidates if (signs := list(_contradictions(node, evidence, stack)))]
    stale = stack.without_checked_copy(tuple(node for node, _ in found))
    for node, contradictions in found:
        outcome = _override_outcome([each for _, each in contradictions])
        setting = words.read(node, "kernel's view", _THROUGH, f"/sys/block/{node.id}/queue/write_cache")
        because = (setting, *(line for line, _ in contradictions))
        yield Hit(outcome if node in stale else "copied", node, because)


def _override_outcome(cached: Sequence[Node]) -> str:
    if not all(is_hidden_by_controller(node) or _behind_server(node) for node in cached):
        return "perhaps_protected" if all(map(may_be_protected, cached)) else "lost"
    return "unknown_server" if any(map(_behind_server, cached)) else "unknown_controller"


def _drops_flushes(node: Node, evidence: Evidence, stack: Stack) -> bool:
    """Return whether flushes that the device would need end there during the whole run."""
    safe = node in stack.in_memory or outlives_power_cut(node) or kind(node.kind).keeps_each_write(node)
    dropped = node.write_cache == _THROUGH and not evidence.has_changed(node.id, "write cache")
    return dropped and not (safe or _is_only_read(node, evidence) or _only_below_multipath(node, evidence, stack))


def _is_only_read(node: Node, evidence: Evidence) -> bool:
    """Return whether nothing is written to it. A device set read-only below a writable one still receives writes."""
    counters = (step.device(node.id) for step in evidence.steps)
    return is_read_only(node) and not any(each is not None and each.written_bytes for each in counters)


def _only_below_multipath(node: Node, evidence: Evidence, stack: Stack) -> bool:
    """Return whether only request-based multipath devices use it. Their flushes ignore the path's own setting."""
    above = [each for each in stack.nodes if node.id in each.below]
    return bool(above) and all(
        dm.sends_requests(each) and each.write_cache != _THROUGH and not evidence.has_changed(each.id, "write cache")
        for each in above
    )


def _contradictions(node: Node, evidence: Evidence, stack: Stack) -> Iterator[tuple[str, Node]]:
    """Yield each sign that a cache is on despite the kernel's setting: a line of evidence, the layer with the cache."""
    if reading := _reported_cache(node):
        yield words.reading(node, reading), node
    below = [
        each
        for each in stack.flushed_below(node)
        if each.write_cache == "write back"
        and not outlives_power_cut(each)
        and not evidence.has_changed(each.id, "write cache")
    ]
    yield from ((words.write_cache(each), each) for each in below)
    if not below and stack.backing(node) and not stack.in_memory and not loop.direct_io(node):
        yield f"{node.id}: keeps what it writes in the page cache until it is flushed (no direct-io)", node


def _deleted_file(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The file of a loop device was deleted, and no other layer has the data."""
    deleted = [(node, file) for node in stack.nodes if (file := loop.deleted(node))]
    lost = stack.without_copy(tuple(node for node, _ in deleted))
    for node, reading in deleted:
        if node in lost:
            yield Hit("perhaps_deleted", node, (words.reading(node, reading),))


def _syncs_not_sent(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """A filesystem or a device is configured to acknowledge syncs without forwarding them."""
    facts = ((node, kind(node.kind).skipped_sync(node)) for node in stack.nodes)
    found = [(node, skipped) for node, skipped in facts if skipped]
    stale = stack.without_checked_copy(tuple(node for node, _ in found if node.layer != "filesystem"))
    for node, skipped in found:
        if node.layer == "filesystem" or node in stale:
            texts = {each: getattr(skipped, each) for each in ("how", "option", "misses", "means", "undo")}
            below = [each for each in stack.flushed_below(node) if stack.is_device(each)]
            caches = map(_cache_line, below) if skipped.flushed_later else ()
            because = (words.reading(node, skipped.reading), *caches)
            outcome = "skipped"
            if skipped.flushed_later:
                safe = _cache_outcome(below) in {"protected_cache", "no_cache"}
                outcome = "late_but_safe" if safe else "late"
            yield Hit(outcome, node, because, {**texts, "below": words.devices(below)})


CONDITIONS: Mapping[str, Callable[[Evidence, Stack, Steps], Iterator[Hit]]] = {
    "in_memory": _in_memory,
    "uncommitted": _uncommitted,
    "barriers_off": _barriers_off,
    "write_through_override": _write_through_override,
    "deleted_file": _deleted_file,
    "syncs_not_sent": _syncs_not_sent,
}
"""The conditions that ``defects.toml`` names. The docstring of each function states its condition."""
