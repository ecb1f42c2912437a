"""A case: the evidence, and every fact that rules rest on, each worked out once.

A fact is what can be said without an opinion: what the stack is, what the configuration decides, what arrived, what a
flush costs. Rules ask the case, and never each other.
"""

from __future__ import annotations

from functools import cached_property

from fstui.judge.facts.commits import DatabaseCommits
from fstui.judge.facts.composition import Received, counted_at, received
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.costs import Costs
from fstui.judge.facts.flush_growth import FlushGrowth, flush_growth
from fstui.judge.facts.flushes import TOLERANCE
from fstui.judge.facts.holders import Holders, commit_devices, media_classes
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.rotation import Rotation
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps, forces
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import MediumClass, Node
from fstui.storage.layers.devices.caches import safe_medium
from fstui.storage.layers.flushes import Range


class Case:
    """What is judged. Its facts are worked out when they are first asked for."""

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.host = evidence.host
        self.stack = Stack(evidence.target)
        self.steps = Steps(evidence, self.stack)
        self.others = OtherWriters(evidence.idle, self.stack)
        self.configuration = Configuration(evidence, self.stack, self.steps)
        self.flushes = RunFlushes(self.stack, self.steps, self.others, self.configuration)
        self.costs = Costs(self.steps, self.configuration, self.flushes)
        self.rotation = Rotation(evidence, self.stack, self.steps, self.configuration, self.flushes)
        self.commits = DatabaseCommits(self.steps, self.flushes)

    @cached_property
    def commit_devices(self) -> tuple[Node, ...]:
        """The lowest devices that a sync waits for; none where that cannot be told."""
        return commit_devices(self.stack)

    @property
    def commits_are_safe(self) -> bool:
        """By its model, or the user's word, none of them can lose anything: a flush has nothing to do there."""
        return bool(self.commit_devices) and all(map(safe_medium, self.commit_devices))

    @cached_property
    def holders(self) -> Holders:
        """The devices that what was acknowledged lies on."""
        grown = (growth.working for growth in self.flush_growth if not growth.flat)
        at_work = self.rotation.turning.union(*(grown if self.flushes.at_the_bottom else ()))
        return Holders(self.host, self.stack, at_work)

    @cached_property
    def commit_media(self) -> frozenset[MediumClass]:
        """Their classes of medium."""
        return media_classes(self.commit_devices)

    def received(self, seen: Step | Snapshot, settings: Settings) -> Received | None:
        """What the step came to, at the level of the stack that the findings speak of; None without a stack.

        ``settings``: what it was asked for, which a snapshot does not say.
        """
        accused = (commits.account.level for commits in self.commits.lacking if commits.step is seen)
        level = next(accused, self.flushes.level)
        if level is None:
            return None
        in_effect = self.steps.in_effect(settings)
        found = received(self.stack, level, seen, forced=in_effect is not None and forces(in_effect))
        flushes = self._told_by_trace(seen) if level is self.stack.levels[0] else None
        return found._replace(flushes=flushes or found.flushes or counted_at(found.devices, seen))

    def _told_by_trace(self, seen: Step | Snapshot) -> Range | None:
        """Flushes and FUA writes of ours, where the findings rest on the kernel's trace."""
        for top, *_ in self.flushes.synced:
            if top.step is seen and top.sent.traced and (top.outcome == "complete" or top.lacks_ours):
                return Range(top.sent.flushes, top.sent.flushes)
        return None

    def shared_with_others(self, step: Step) -> bool:
        """More than one in twenty of the flushes that it came to may be somebody else's: by what the same devices did
        while fstui was idle, or by the kernel's trace."""
        found = self.received(step, step.settings)
        if found is None or found.flushes is None:
            return False
        idle = (self.others.flushes_per_s(found.devices) or 0.0) * step.elapsed_s
        devices = {node.id for node in found.devices}
        traced = sum(trace.asked_by_others or 0 for trace in step.trace or () if trace.device in devices)
        return max(idle, traced) > TOLERANCE * found.flushes.low

    @cached_property
    def flush_growth(self) -> tuple[FlushGrowth, ...]:
        """How flush time grew with the unsynced data before it."""
        return tuple(growth for step in self.steps.all if not step.changed for growth in flush_growth(step))
