"""The conditions that ``defects.toml`` names: where more than one reading decides whether a sync is worth nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from fstui.judge import words
from fstui.judge.defects import Hit
from fstui.judge.facts.overrides import write_through_override
from fstui.judge.facts.process import stub_signs
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.judge.facts.without_barriers import barriers_off
from fstui.model.quantities import count
from fstui.model.run import Evidence
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.facts import volatile
from fstui.storage.layers.stacked import loop

_FLAT = 0.05
"""ZIL commits per sync. With sync=disabled zil_commit returns before it counts; others only add."""


def _in_memory(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The bottom of the stack forgets with the power. Copies, or what an array can do without, are a note."""
    if found := stack.forgets:
        what, lost = _lost_with(stack, found)
        kinds = words.listed(dict.fromkeys(map(_kind_of_memory, found)))
        yield Hit("lost", found[0], tuple(map(_why_memory, found)), {"kinds": kinds, "what": what, "lost": lost})
    elif found := stack.in_memory:
        yield Hit("copied", found[0], tuple(map(_why_memory, found)), {"devices": words.devices(found)})


def _lost_with(stack: Stack, memory: tuple[Node, ...]) -> tuple[str, str]:
    """What is in memory, and what is lost with it: all, or what cannot be found or read without it."""
    aside = tuple(map(stack.aside, memory))
    first = aside[0]
    if first is None or None in aside:
        return "The data ends", "everything"
    return f"The {first.role} of {words.named(first.layer)} is", "it, and with it what was acknowledged"


def _kind_of_memory(node: Node) -> str:
    """ "Disk" would say nothing of one that is memory by its model: its name does."""
    if _is_declared_memory(node):
        return "declared"
    return node.name if node.kind == "disk" else node.kind


def _why_memory(node: Node) -> str:
    if _is_declared_memory(node):
        return f"{node.id}: declared by you to be memory"
    medium = node.medium
    read = medium.because if medium and not medium.declared else ""
    return f"{node.id}: {read or node.because or node.kind}"


def _is_declared_memory(node: Node) -> bool:
    """By the user, of a device that is none by its kind: tmpfs stays memory whatever is said of it."""
    medium = node.medium
    by_its_kind = node.layer != "block" or kind(node.kind).in_memory
    return medium is not None and medium.declared and medium.class_ == "memory" and not by_its_kind


def _uncommitted(evidence: Evidence, stack: Stack, steps: Steps) -> Iterator[Hit]:
    """The intent log of a ZFS dataset stayed flat while syncs succeeded.

    Only where the program's own filesystem is the dataset, and nothing above swallows its syncs.
    """
    dataset = next((level.filesystem for level in stack.levels), None)
    if dataset is None or dataset.kind not in {"zfs", "zvol"} or any(stub_signs(evidence.process)):
        return
    sync = dataset.reading("sync")
    if (sync and sync.value == "disabled") or any(told.value for node in stack.nodes if (told := volatile(node))):
        return
    counted = ((done, done.step.device(dataset.id)) for done in steps.synced)
    found = [(done, each.commits) for done, each in counted if each and each.commits is not None]
    commits, syncs = sum(number for _, number in found), sum(done.syncs for done, _ in found)
    if found and commits <= _FLAT * syncs:
        measured = [done.step for done, _ in found]
        yield Hit(
            "uncommitted",
            dataset,
            tuple(f"{done.step.name}: {count(number)} commits, {count(done.syncs)} syncs" for done, number in found),
            {"commits": count(commits), "syncs": count(syncs), "time": words.time_measured(measured)},
            steps=words.names(measured),
        )


def _deleted_file(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """The file of a loop device has lost its name, and the data is on nothing else."""
    facts = ((node, loop.facts(node).deleted) for node in stack.nodes)
    told = [(node, found.reading) for node, found in facts if found and found.value]
    lost = stack.lost_with(tuple(node for node, _ in told))
    for node, reading in told:
        if node in lost:
            yield Hit("perhaps_deleted", node, (words.reading(node, reading),))


def _syncs_not_sent(_: Evidence, stack: Stack, __: Steps) -> Iterator[Hit]:
    """A filesystem or a device is configured to answer syncs itself."""
    told = ((node, kind(node.kind).unsent(node)) for node in stack.nodes)
    found = [(node, unsent) for node, unsent in told if unsent]
    stale = stack.stale_with(tuple(node for node, _ in found if node.layer != "filesystem"))
    for node, unsent in found:
        if node.layer == "filesystem" or node in stale:
            texts = {each: getattr(unsent, each) for each in ("how", "option", "misses", "means", "undo")}
            yield Hit("unsent", node, (words.reading(node, unsent.told),), texts)


CONDITIONS: Mapping[str, Callable[[Evidence, Stack, Steps], Iterator[Hit]]] = {
    "in_memory": _in_memory,
    "uncommitted": _uncommitted,
    "barriers_off": barriers_off,
    "write_through_override": write_through_override,
    "deleted_file": _deleted_file,
    "syncs_not_sent": _syncs_not_sent,
}
