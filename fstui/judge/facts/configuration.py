"""What the configuration alone decides, whatever any number says."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from fstui.judge.facts.overrides import Overrides, overrides
from fstui.judge.facts.process import stub_signs
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps, SyncStep
from fstui.judge.facts.without_barriers import WithoutBarriers, without_barriers
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Node, Reading
from fstui.storage.layers import kind
from fstui.storage.layers.facts import Fact, volatile
from fstui.storage.layers.kinds import Unsent
from fstui.storage.layers.stacked import dm, dm_zero, loop
from fstui.storage.layers.stacked.dm_tables import DROPS_PART
from fstui.storage.layers.zfs import datasets

_FLAT = 0.05
"""ZIL commits per sync. With sync=disabled zil_commit returns before it counts; others only add."""


class Uncommitted(NamedTuple):
    """A step of syncs on ZFS, and how often its intent log was committed meanwhile."""

    step: Step
    syncs: int
    commits: int


class Configuration:
    """Each way in which a sync is known to be worth nothing, before or without counting it."""

    def __init__(self, evidence: Evidence, stack: Stack, steps: Steps) -> None:
        self._evidence, self._stack, self._steps = evidence, stack, steps

    @cached_property
    def breaks_sync(self) -> bool:
        """It already tells why flushes are missing; counting them again adds nothing."""
        return bool(
            self._stack.forgets
            or self.volatile_overlays
            or self.sync_disabled
            or self.uncommitted
            or self.log_ignored
            or self.transient
            or self.dropping
            or self.deleted
            or self.unsent
            or any(found.loses_data for found in self.without_barriers)
            or self.overrides.losing
            or self.stub_signs
        )

    @cached_property
    def stub_signs(self) -> tuple[str, ...]:
        """Nothing that this process measured says anything about the disk; why, a line each."""
        return tuple(stub_signs(self._evidence.process))

    @cached_property
    def volatile_overlays(self) -> tuple[tuple[Node, Reading], ...]:
        """The overlays that leave every sync out, and where that was read."""
        overlays = (node for node in self._stack.nodes if kind(node.kind).over_filesystem)
        return tuple((node, told.reading) for node in overlays if (told := volatile(node)) and told.value)

    @cached_property
    def sync_disabled(self) -> tuple[tuple[Node, Reading], ...]:
        """The ZFS datasets and volumes with sync=disabled."""
        return tuple(
            (dataset, told.disabled.reading)
            for dataset in self._stack.nodes
            if (told := datasets.facts(dataset))
            and told.disabled
            and told.disabled.value
            and not self._evidence.changed(dataset.id, told.disabled.reading.what)
        )

    @cached_property
    def uncommitted(self) -> tuple[Uncommitted, ...]:
        """The synced steps of a dataset whose intent log stayed flat; none where it was committed.

        Only where the program's own filesystem is the dataset, and nothing above swallows its syncs.
        """
        dataset = next((level.filesystem for level in self._stack.levels), None)
        told = datasets.facts(dataset) if dataset else None
        swallowed = self.stub_signs or self.volatile_overlays
        if dataset is None or told is None or swallowed or (told.disabled and told.disabled.value):
            return ()
        found = tuple(done for step in self._steps.synced if (done := _commits(step, dataset)))
        flat = sum(done.commits for done in found) <= _FLAT * sum(done.syncs for done in found)
        return found if flat else ()

    @cached_property
    def log_ignored(self) -> tuple[tuple[Node, Reading], ...]:
        """The ZFS datasets and volumes whose intent log nobody reads after a power cut."""
        return tuple(
            (dataset, told.replayed.reading)
            for dataset in self._stack.nodes
            if (told := datasets.facts(dataset))
            and told.replayed
            and not told.replayed.value
            and not self._evidence.changed(dataset.id, told.replayed.reading.what)
        )

    @cached_property
    def transient(self) -> tuple[tuple[Node, Reading], ...]:
        """The snapshots whose store is forgotten at the next boot."""
        told = ((node, dm.persistent(node)) for node in self._stack.nodes)
        return tuple((node, found.reading) for node, found in told if found and not found.value)

    @cached_property
    def dropping(self) -> tuple[tuple[Node, Reading], ...]:
        """The targets that throw writes away, where no checksums of what stands on them tell the good copy."""
        return self._told_so(self._drops_writes, self._stack.stale_with)

    @cached_property
    def deleted(self) -> tuple[tuple[Node, Reading], ...]:
        """The loop devices whose file goes with them, where the data is on nothing else."""
        return self._told_so(lambda node: loop.facts(node).deleted, self._stack.lost_with)

    @cached_property
    def called_deleted(self) -> tuple[tuple[Node, Reading], ...]:
        """Those of which it is not known whether another name leads to their file."""
        return self._told_so(lambda node: loop.facts(node).called_deleted, self._stack.lost_with)

    @cached_property
    def unsent(self) -> tuple[tuple[Node, Unsent], ...]:
        """The filesystems and devices that are configured to answer syncs themselves."""
        told = ((node, kind(node.kind).unsent(node)) for node in self._stack.nodes)
        found = [(node, unsent) for node, unsent in told if unsent]
        stale = self._stack.stale_with(tuple(node for node, _ in found if node.layer != "filesystem"))
        return tuple((node, unsent) for node, unsent in found if node.layer == "filesystem" or node in stale)

    @cached_property
    def without_barriers(self) -> tuple[WithoutBarriers, ...]:
        """The filesystems, and ZFS volumes, whose barriers are off."""
        return without_barriers(self._stack, self._evidence)

    @cached_property
    def overrides(self) -> Overrides:
        """The devices that the kernel was told are "write through", while their cache is on."""
        return overrides(self._evidence, self._stack)

    def _drops_writes(self, node: Node) -> Fact[bool] | None:
        """None of one that does so in a part where a volume or a partition above need not stand on that part, or the
        filesystem on it ends before."""
        told = dm.drops_writes(node)
        if told is None or told.reading.value != DROPS_PART:
            return told
        above = (each for each in self._stack.nodes if node in self._stack.beneath(each))
        mounted = all(each.layer == "filesystem" for each in self._stack.nodes if node.id in each.below)
        beyond = mounted and dm_zero.drops_behind_filesystem(node)
        return None if beyond or any(kind(each.kind).takes_part for each in above) else told

    def _told_so(
        self, fact: Callable[[Node], Fact[bool] | None], among: Callable[[tuple[Node, ...]], tuple[Node, ...]]
    ) -> tuple[tuple[Node, Reading], ...]:
        """The layers of which that is true, and where it was read: those of them with which the data goes."""
        told = [(node, found.reading) for node in self._stack.nodes if (found := fact(node)) and found.value]
        those = among(tuple(node for node, _ in told))
        return tuple((node, reading) for node, reading in told if node in those)


def _commits(done: SyncStep, dataset: Node) -> Uncommitted | None:
    counters = done.step.device(dataset.id)
    if counters is None or counters.commits is None:
        return None
    return Uncommitted(done.step, done.syncs, counters.commits)
