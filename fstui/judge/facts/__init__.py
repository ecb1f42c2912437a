"""The facts that rules rest on: what can be said about the evidence without an opinion.

A ``Case`` computes each fact once: what the stack is, what the configuration decides, how many flushes arrived, what a
flush costs. Rules read the case and never call each other.
"""

from __future__ import annotations

from functools import cached_property

from fstui.judge.facts.account import COMMIT_BYTES, TOLERANCE
from fstui.judge.facts.commits import DatabaseCommits
from fstui.judge.facts.composition import Received, counted_at, received
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.costs import Costs
from fstui.judge.facts.flush_work import FlushGrowth, LowestDevices, flush_growth
from fstui.judge.facts.flushes import LevelAccounts
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.rotation import Rotation
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.steps import MIN_SYNCS, Steps, writes_fua
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import MediumClass, Node
from fstui.storage.layers.devices.caches import safe_medium
from fstui.storage.layers.flushes import Range


class Case:
    """The evidence of a run and its facts, each computed on first use."""

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

    @property
    def commit_devices(self) -> tuple[Node, ...]:
        """The lowest devices that a sync waits for; empty if that is not known."""
        return self.stack.commit_devices

    @cached_property
    def commit_media(self) -> frozenset[MediumClass]:
        return frozenset(node.medium.class_ if node.medium else "unknown" for node in self.commit_devices)

    @property
    def commits_are_safe(self) -> bool:
        """Whether the devices that a sync waits for lose nothing, by model or declaration: a flush has nothing to do
        there."""
        return bool(self.commit_devices) and all(map(safe_medium, self.commit_devices))

    @cached_property
    def flush_growth(self) -> tuple[FlushGrowth, ...]:
        return tuple(growth for step in self.steps.all if not step.changed for growth in flush_growth(step))

    @cached_property
    def lowest_devices(self) -> LowestDevices:
        """The devices that hold the data, and which of them were observed to do work."""
        grown = (growth.working for growth in self.flush_growth if not growth.flat)
        working = self.rotation.working.union(*(grown if self.flushes.complete_at_lowest else ()))
        return LowestDevices(self.host, self.stack, working)

    def received(self, seen: Step | Snapshot, settings: Settings) -> Received | None:
        """Return the flushes and bytes of all processes that reached the findings' level during a step.

        None without a stack. ``settings`` are the step's: a snapshot does not have them.
        """
        level = self._level(seen)
        if level is None:
            return None
        in_effect = self.steps.in_effect(settings)
        found = received(self.stack, level, seen, fua=in_effect is not None and writes_fua(in_effect))
        flushes = self._traced(seen) if level is self.stack.levels[0] else None
        return found._replace(flushes=flushes or found.flushes or counted_at(found.devices, seen))

    def received_from_fstui(self, seen: Step | Snapshot, settings: Settings) -> Received | None:
        """Return ``received``, but None for each figure to which other processes may have added.

        The kernel's trace tells flushes apart, but not bytes. A figure that is too low is kept: others only add to it.
        """
        found, level = self.received(seen, settings), self._level(seen)
        if found is None or level is None:
            return None
        account = next((one for one in self._accounts(seen) if one.level is level), None)
        if account and (account.lacks_flushes or account.lacks_bytes):
            return found
        few, complete = TOLERANCE * max(seen.syncs, MIN_SYNCS), account is not None and account.complete_by_counters
        idle_flushes = (self.others.flushes_per_s(found.devices) or 0.0) * seen.elapsed_s
        wrote = not complete and max(idle_flushes, self._traced_others(seen, found)) > few
        wrote = wrote or (account is not None and account.others_wrote)
        if wrote:
            found = found._replace(flushes=self._traced(seen) if level is self.stack.levels[0] else None)
        idle_bytes = self.others.bytes_per_s(found.devices) * seen.elapsed_s
        enough = found.written is not None and found.written.low > seen.bytes
        if enough and (wrote or idle_bytes > max(TOLERANCE * seen.bytes, COMMIT_BYTES)):
            found = found._replace(written=None)
        return found

    def _level(self, seen: Step | Snapshot) -> Level | None:
        lacking = (commits.account.level for commits in self.commits.lacking if commits.step is seen)
        return next(lacking, self.flushes.level)

    def _accounts(self, seen: Step | Snapshot) -> LevelAccounts:
        done = self.steps.of(seen) if isinstance(seen, Step) else None
        return self.flushes.accounts(done) if done and done.call and done.syncs else ()

    def _traced(self, seen: Step | Snapshot) -> Range | None:
        """Return fstui's own flushes and FUA writes if the kernel's trace tells them apart."""
        top = next(iter(self._accounts(seen)), None)
        if top and top.arrival.traced and (top.outcome == "complete" or top.trace_lacks):
            return Range(top.arrival.flushes, top.arrival.flushes)
        return None

    def shared_with_others(self, step: Step) -> bool:
        """Return whether more than 5 % of the step's flushes may come from other processes.

        Activity while fstui was idle shows that, or the kernel's trace.
        """
        found = self.received(step, step.settings)
        if found is None or found.flushes is None:
            return False
        idle = (self.others.flushes_per_s(found.devices) or 0.0) * step.elapsed_s
        return max(idle, self._traced_others(step, found)) > TOLERANCE * found.flushes.low

    @staticmethod
    def _traced_others(seen: Step | Snapshot, found: Received) -> int:
        """Return the flushes that other programs requested of these devices; 0 without a trace."""
        trace = (seen.trace if isinstance(seen, Step) else None) or ()
        devices = {node.id for node in found.devices}
        return sum(one.asked_by_others or 0 for one in trace if one.device in devices)
