"""fstui's own flushes and bytes in one step, as the tables of a report show them.

They are those of the level that the findings are about. The kernel's trace tells flushes of processes apart, not bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from fstui.judge.facts import Case
from fstui.judge.facts.account import COMMIT_BYTES, TOLERANCE, FlushAccount
from fstui.judge.facts.composition import Received, counted_at, received
from fstui.judge.facts.stack import Level
from fstui.judge.facts.steps import MIN_SYNCS, writes_fua
from fstui.model.settings import Settings
from fstui.model.steps import Snapshot, Step
from fstui.storage.layers.flushes import Range


class StepCounts:
    """A figure is None if it is not known, for example because other processes also wrote.

    ``settings``: those of the step, which a snapshot does not contain.
    """

    def __init__(self, case: Case) -> None:
        self._case = case

    def flushes(self, seen: Step | Snapshot, settings: Settings) -> float | None:
        """Return the flushes that arrived. In a mirror, those of the member that received fewest."""
        return _fewest(self._own(seen, settings))

    def flushes_at_most(self, step: Step) -> float | None:
        """Return the flushes that arrived, with those of other processes."""
        return _fewest(self._all(step, step.settings))

    def flushes_per_sync(self, seen: Step | Snapshot, settings: Settings) -> float | None:
        """Return the flushes per requested sync; None for a step that also syncs between its timed operations."""
        counted = self.flushes(seen, settings) if seen.syncs and settings.uniform else None
        return counted / seen.syncs if counted is not None else None

    def written_bytes(self, step: Step) -> float | None:
        found = self._own(step, step.settings)
        return found.written.low if found and found.written else None

    def bytes_ratio(self, step: Step) -> float | None:
        arrived = self.written_bytes(step) if step.bytes else None
        return arrived / step.bytes if arrived is not None else None

    def shared_devices(self, steps: Iterable[Step]) -> tuple[str, ...]:
        """Return the devices where flushes or bytes of a step are unknown because other processes also wrote."""
        shared: dict[str, None] = {}
        for step in steps:
            every, own = self._all(step, step.settings), self._own(step, step.settings)
            if every and own and (every.flushes, every.written) != (own.flushes, own.written):
                shared.update(dict.fromkeys(node.id for node in every.devices))
        return tuple(shared)

    def shared_with_others(self, step: Step) -> bool:
        """Return whether more than 5 % of the flushes may be those of other processes."""
        found = self._all(step, step.settings)
        if found is None or found.flushes is None:
            return False
        return self._of_others(step, found) > TOLERANCE * found.flushes.low

    def _all(self, seen: Step | Snapshot, settings: Settings) -> Received | None:
        """Return the flushes and bytes of all processes; None without a stack."""
        level = self._level(seen)
        if level is None:
            return None
        in_effect = self._case.steps.in_effect(settings)
        found = received(self._case.stack, level, seen, fua=in_effect is not None and writes_fua(in_effect))
        return found._replace(flushes=self._traced(seen, level) or found.flushes or counted_at(found.devices, seen))

    def _own(self, seen: Step | Snapshot, settings: Settings) -> Received | None:
        """Return fstui's own flushes and bytes; None for a figure to which other processes may have added."""
        found, level = self._all(seen, settings), self._level(seen)
        if found is None or level is None:
            return None
        account = next((one for one in self._accounts(seen) if one.level is level), None)
        if account and (account.lacks_flushes or account.lacks_bytes):
            return found
        complete = account is not None and account.complete_by_counters
        tolerated = TOLERANCE * max(seen.syncs, MIN_SYNCS)
        others_flushed = not complete and self._of_others(seen, found) > tolerated
        others_wrote = others_flushed or (account is not None and account.others_wrote)
        if others_wrote:
            found = found._replace(flushes=self._traced(seen, level))
        idle_bytes = self._case.others.bytes_per_s(found.devices) * seen.elapsed_s
        surplus = found.written is not None and found.written.low > seen.bytes
        if surplus and (others_wrote or idle_bytes > max(TOLERANCE * seen.bytes, COMMIT_BYTES)):
            found = found._replace(written=None)
        return found

    def _level(self, seen: Step | Snapshot) -> Level | None:
        missing = (commits.account.level for commits in self._case.commits.missing_flushes if commits.step is seen)
        return next(missing, self._case.flushes.level)

    def _accounts(self, seen: Step | Snapshot) -> tuple[FlushAccount, ...]:
        done = self._case.steps.of(seen) if isinstance(seen, Step) else None
        return self._case.flushes.accounts(done) if done and done.call and done.syncs else ()

    def _traced(self, seen: Step | Snapshot, level: Level) -> Range | None:
        """Return fstui's own flushes and FUA writes if the trace tells them apart, at the topmost level only."""
        top = next(iter(self._accounts(seen)), None)
        if top and top.level is level and top.arrival.traced and (top.outcome == "complete" or top.trace_lacks):
            return Range(top.arrival.flushes, top.arrival.flushes)
        return None

    def _of_others(self, seen: Step | Snapshot, found: Received) -> float:
        """Return the flushes of other programs at these devices, by the trace or by their rate while fstui was idle."""
        trace = (seen.trace if isinstance(seen, Step) else None) or ()
        devices = {node.id for node in found.devices}
        traced = sum(one.asked_by_others or 0 for one in trace if one.device in devices)
        return max(traced, (self._case.others.flushes_per_s(found.devices) or 0.0) * seen.elapsed_s)


def _fewest(found: Received | None) -> float | None:
    return found.flushes.low if found and found.flushes else None
