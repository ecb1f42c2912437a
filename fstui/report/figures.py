"""Figures that every face derives from a run in the same way. None: it cannot be told."""

from __future__ import annotations

from collections.abc import Iterable

from fstui.judge import Case
from fstui.judge import words as judges_words
from fstui.model.counters import DeviceCounters
from fstui.model.host import Writer
from fstui.model.plan import Plan
from fstui.model.quantities import short_size
from fstui.model.run import Evidence
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Target
from fstui.powercut import plan as power_cut


def words(seen: Step | Snapshot) -> str:
    """What its kind of step says in the place of numbers; empty where there is nothing to tell."""
    return seen.figures.words if seen.figures else ""


def lowest(counters: Iterable[DeviceCounters], target: Target | None) -> tuple[DeviceCounters, ...]:
    """The counters of the stack's lowest devices."""
    names = {node.id for node in target.lowest} if target else set()
    return tuple(device for device in counters if device.device in names)


class Counts:
    """What the kernel counted in the steps of a run, at the level of the stack that its findings speak of."""

    def __init__(self, evidence: Evidence) -> None:
        self._case = Case(evidence)

    def flushes(self, step: Step | Snapshot, settings: Settings) -> float | None:
        """Flushes that arrived, as the layers hand them down: of a mirror what the leg with the fewest saw."""
        found = self._case.received(step, settings)
        return found.flushes.low if found and found.flushes else None

    def shared_with_others(self, step: Step) -> bool:
        """Somebody else's flushes are among them."""
        return self._case.shared_with_others(step)

    def written_bytes(self, step: Step) -> float | None:
        """The same of bytes."""
        found = self._case.received(step, step.settings)
        return found.written.low if found and found.written else None

    def flushes_per_sync(self, step: Step | Snapshot, settings: Settings) -> float | None:
        """For each sync that was asked for; None where nothing was synced or counted.

        None too where the operations differ on purpose: such a step syncs once more between those that it times.
        """
        counted = self.flushes(step, settings) if step.syncs and settings.uniform else None
        return counted / step.syncs if counted is not None else None

    def bytes_ratio(self, step: Step) -> float | None:
        """Bytes that arrived for each byte written; None where nothing was written or counted."""
        arrived = self.written_bytes(step) if step.bytes else None
        return arrived / step.bytes if arrived is not None else None


def device_flushes_per_sync(device: DeviceCounters, syncs: int, settings: Settings) -> float | None:
    """Flushes of one device alone for each sync that was asked for."""
    return device.flushes / syncs if device.flushes is not None and syncs and settings.uniform else None


def stack_line(target: Target | None) -> str:
    """The way down in one line, layer by layer: ``ext4 › sda1 › sda``, ``xfs › md0 › sda + sdb``."""
    if target is None or not target.stack:
        return ""
    nodes = {node.id: node for node in target.stack}
    line, seen, level = [], set(), [target.stack[0]]
    while level:
        seen |= {node.id for node in level}
        line.append(_level(level[0].kind if level[0].layer == "filesystem" else node.name for node in level))
        below = dict.fromkeys(name for node in level for name in node.below if name in nodes and name not in seen)
        level = [nodes[name] for name in below]
    return " › ".join(line)


def _level(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " + ".join(distinct) if len(distinct) <= 3 else f"{distinct[0]} + {len(distinct) - 1} more"


def names_of(writers: Iterable[Writer]) -> str:
    """Other programs, who wrote most first. The kernel's workers write for somebody else: only where they are all."""
    found = list(writers)
    return judges_words.writers([writer for writer in found if not writer.name.startswith("kworker")] or found)


def failure(step: Step) -> str:
    """Why a step did not finish, in words; empty where it did."""
    if step.error is None:
        return step.reason or ""
    return f"{step.reason} ({step.error.said})" if step.reason else step.error.said


def writes_at_most(plan: Plan) -> str:
    """What a run writes: ``≤ 2.1 G`` in all, or ``20 K/s`` where it runs until it is stopped."""
    return f"≤ {short_size(plan.max_bytes)}" if plan.bytes_per_s is None else f"{short_size(plan.bytes_per_s)}/s"


def power_cut_writes(cut: power_cut.Plan) -> str:
    """The same of a power-cut check, which nothing but the cut may end."""
    if cut.max_bytes is not None:
        return f"≤ {short_size(cut.max_bytes)}"
    return f"{short_size(cut.bytes_per_s)}/s" if cut.bytes_per_s else "all it can"
