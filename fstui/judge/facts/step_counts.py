"""fstui's own flushes and bytes in one step, as the tables of a report show them.

The counts are those of the level that the findings are about. The kernel's trace shows which process sent a flush, but
not which process wrote a byte.
"""

from collections.abc import Iterable, Sequence

from fstui.judge.facts import Case
from fstui.judge.facts.account import COMMIT_BYTES, SURPLUS_TOLERANCE, FlushAccount
from fstui.judge.facts.composition import LevelCounts, level_counts, total_flushes
from fstui.judge.facts.stack import Level
from fstui.judge.facts.steps import MIN_SYNCS, as_sync_writes, writes_fua
from fstui.model.counters import DeviceCounters
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.model.storage import Node
from fstui.storage.layers.flushes import Range


class StepCounts:
    """The counts of a step. A count is None if it is not known, for example because other processes also wrote.

    Methods that accept a snapshot need ``settings``, because a snapshot does not contain the settings of its step.
    """

    def __init__(self, case: Case) -> None:
        self._case = case

    def flushes(self, step: Step | Snapshot, settings: Settings) -> float | None:
        """Return the flushes that arrived; in a mirror, the flushes of the member that received fewest."""
        return _lowest_flushes(self._own_counts(step, settings))

    def flushes_at_most(self, step: Step) -> float | None:
        """Return the flushes that arrived, including flushes of other processes."""
        return _lowest_flushes(self._all_counts(step, step.settings))

    def flushes_per_sync(self, step: Step | Snapshot, settings: Settings) -> float | None:
        """Return the flushes per sync; None for a step that also syncs between its timed operations."""
        counted = self.flushes(step, settings) if step.syncs and settings.uniform else None
        return counted / step.syncs if counted is not None else None

    def written_bytes(self, step: Step) -> float | None:
        own = self._own_counts(step, step.settings)
        return own.written_bytes.low if own and own.written_bytes else None

    def bytes_ratio(self, step: Step) -> float | None:
        arrived = self.written_bytes(step) if step.bytes else None
        return arrived / step.bytes if arrived is not None else None

    def shared_devices(self, steps: Iterable[Step]) -> tuple[str, ...]:
        """Return the devices where flushes or bytes of a step are unknown because other processes also wrote."""
        device_ids: dict[str, None] = {}
        for step in steps:
            total, own = self._all_counts(step, step.settings), self._own_counts(step, step.settings)
            if total and own and (total.flushes, total.written_bytes) != (own.flushes, own.written_bytes):
                device_ids.update(dict.fromkeys(node.id for node in total.devices))
        return tuple(device_ids)

    def shared_with_others(self, step: Step) -> bool:
        """Return whether more than 5 % of the flushes may be those of other processes."""
        total = self._all_counts(step, step.settings)
        if total is None or total.flushes is None:
            return False
        return self._other_flushes(step, total) > SURPLUS_TOLERANCE * total.flushes.low

    def others_flushed(self, node: Node, counters: DeviceCounters, elapsed_s: float) -> bool:
        """Return whether more than 5 % of a device's flushes may be those that others sent while fstui was idle."""
        others = (self._case.other_writers.flushes_per_s([node]) or 0.0) * elapsed_s
        return others > SURPLUS_TOLERANCE * (counters.flushes or 0)

    def includes_other_bytes(
        self, written: float | None, devices: Sequence[Node], step: Step | Snapshot, *, others_wrote: bool = False
    ) -> bool:
        """Return whether these bytes may include those of other processes, which may also write while fstui is idle.

        Exactly as many bytes as fstui wrote are its own.
        """
        other_bytes = self._case.other_writers.bytes_per_s(devices) * step.elapsed_s
        others_wrote = others_wrote or other_bytes > max(SURPLUS_TOLERANCE * step.bytes, COMMIT_BYTES)
        return others_wrote and written not in (0, step.bytes)

    def _all_counts(self, step: Step | Snapshot, settings: Settings) -> LevelCounts | None:
        """Return the flushes and bytes of all processes; None without a stack."""
        level = self._level(step)
        if level is None:
            return None
        sync_writes = as_sync_writes(settings)
        counts = level_counts(self._case.stack, level, step, fua=sync_writes is not None and writes_fua(sync_writes))
        flushes = self._traced_flushes(step, level) or counts.flushes or total_flushes(counts.devices, step)
        return counts._replace(flushes=flushes)

    def _own_counts(self, step: Step | Snapshot, settings: Settings) -> LevelCounts | None:
        """Return fstui's own flushes and bytes; None for a count to which other processes may have added."""
        counts, level = self._all_counts(step, settings), self._level(step)
        if counts is None or level is None:
            return None
        account = next((account for account in self._accounts(step) if account.level is level), None)
        if account and (account.lacks_flushes or account.lacks_bytes):
            return counts
        is_complete = account is not None and account.counters_are_complete
        tolerated = SURPLUS_TOLERANCE * max(step.syncs, MIN_SYNCS)
        # complete counters may still include a few flushes of others if more than one flush per sync is expected
        others = self._traced_other_flushes(step, counts) if is_complete else self._other_flushes(step, counts)
        others_flushed = others > tolerated
        others_wrote = others_flushed or (account is not None and account.others_wrote)
        if others_wrote and not (counts.flushes and counts.flushes.high == 0):
            own = account.own_flushes if account and account.trace_is_complete else None
            counts = counts._replace(flushes=self._traced_flushes(step, level) if own is None else Range(own, own))
        written = counts.written_bytes.low if counts.written_bytes else None
        if self.includes_other_bytes(written, counts.devices, step, others_wrote=others_wrote):
            counts = counts._replace(written_bytes=None)
        return counts

    def _level(self, step: Step | Snapshot) -> Level | None:
        missing = (commits for commits in self._case.commits.missing_flushes if commits.step is step)
        return next((commits.account.level for commits in missing), self._case.flushes.level)

    def _accounts(self, step: Step | Snapshot) -> tuple[FlushAccount, ...]:
        write_step = self._case.steps.as_write_step(step) if isinstance(step, Step) else None
        has_syncs = write_step and write_step.sync_method and write_step.syncs
        return self._case.flushes.accounts(write_step) if write_step and has_syncs else ()

    def _traced_flushes(self, step: Step | Snapshot, level: Level) -> Range | None:
        """Return fstui's own flushes and FUA writes; None below the topmost level, or if the trace is inconclusive."""
        top = next(iter(self._accounts(step)), None)
        if top and top.level is level and top.arrival.trace and (top.outcome == "complete" or top.trace_lacks_flushes):
            flushes = top.arrival.per_sync * top.syncs
            return Range(flushes, flushes)
        return None

    def _traced_other_flushes(self, step: Step | Snapshot, counts: LevelCounts) -> float:
        """Return the traced flushes of others; if a part of the step was traced, as many per second in the rest."""
        if not isinstance(step, Step) or not step.trace:
            return 0.0
        device_ids = {node.id for node in counts.devices}
        others = sum(trace.requested_by_others or 0 for trace in step.trace if trace.device in device_ids)
        return others * step.elapsed_s / step.traced_part.elapsed_s if step.traced_part else others

    def _other_flushes(self, step: Step | Snapshot, counts: LevelCounts) -> float:
        """Estimate the flushes of other programs at these devices: the trace's number, or the idle rate if higher."""
        other_flushes_per_s = self._case.other_writers.flushes_per_s(counts.devices) or 0.0
        return max(self._traced_other_flushes(step, counts), other_flushes_per_s * step.elapsed_s)


def _lowest_flushes(counts: LevelCounts | None) -> float | None:
    return counts.flushes.low if counts and counts.flushes else None
