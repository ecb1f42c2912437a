"""The facts from which rules draw conclusions.

A ``Case`` computes each fact once, such as the layers of the stack, the faults of the configuration, the flushes that
arrived, and the cost of a flush. Rules read the case and never call each other.
"""

from functools import cached_property

from fstui.judge.facts.commits import DatabaseCommits
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.costs import Costs
from fstui.judge.facts.flush_work import FlushGrowth, LowestDevices, flush_growth
from fstui.judge.facts.other_writers import OtherWriters
from fstui.judge.facts.rotation import Rotation
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps
from fstui.model.run import Evidence
from fstui.model.storage import MediumClass
from fstui.storage.layers.devices.caches import is_safe_drive


class Case:
    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence
        self.host = evidence.host
        self.stack = Stack(evidence.target)
        self.steps = Steps(evidence)
        self.other_writers = OtherWriters(evidence.idle, self.stack)
        self.configuration = Configuration(evidence, self.stack, self.steps)
        self.flushes = RunFlushes(self.stack, self.steps, self.other_writers, self.configuration)
        self.costs = Costs(self.stack, self.steps, self.configuration, self.flushes)
        self.rotation = Rotation(evidence, self.stack, self.steps, self.configuration, self.flushes)
        self.commits = DatabaseCommits(self.steps, self.flushes)

    @cached_property
    def commit_media(self) -> frozenset[MediumClass]:
        return frozenset(node.medium.class_ if node.medium else "unknown" for node in self.stack.commit_devices)

    @property
    def commits_are_safe(self) -> bool:
        """Whether, by model or declaration, no device that a sync waits for loses data in a power cut."""
        return bool(self.stack.commit_devices) and all(map(is_safe_drive, self.stack.commit_devices))

    @cached_property
    def flush_growth(self) -> tuple[FlushGrowth, ...]:
        return tuple(growth for step in self.steps.all if not step.changed for growth in flush_growth(step))

    @cached_property
    def lowest_devices(self) -> LowestDevices:
        """The devices that hold the data, and which of these devices were seen to act on flushes."""
        working_ids = self.rotation.flushing_devices
        if self.flushes.complete_lowest_account:
            growing = (growth for growth in self.flush_growth if growth.shows_work)
            working_ids = working_ids.union(*(growth.flushing_devices for growth in growing))
        return LowestDevices(self.host, self.stack, working_ids)
