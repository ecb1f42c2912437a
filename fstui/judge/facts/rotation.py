"""The platters beneath, where an answer can only come from them, and how fast steps went against their turns.

An answer comes from the platter where blocks are written in place, with no cache between.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.facts.configuration import Configuration
from fstui.judge.facts.costs import MEAN_TO_MEDIAN
from fstui.judge.facts.limits import ASSUMED_RPM, LOGGED_NS, NAND_PROGRAM_NS, rewrites_per_s, rpm
from fstui.judge.facts.run_flushes import RunFlushes
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import Steps, SyncStep, has_rate
from fstui.model.host import Host
from fstui.model.quantities import duration_ns, rate
from fstui.model.run import Evidence
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import answers_for_disks, protected_cache
from fstui.storage.layers.devices.disk import facts, is_virtual, writes
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.models import Writes
from fstui.storage.layers.facts import zoned

BEYOND, FAR_BEYOND = 1.5, 5
"""So many times the limit, and something else than the platter answers."""
OWN_SHARE = 0.5
"""A disk whose own flushes, or writes where it is sent none, take so much of the time is what makes it slow: not a
cgroup's limit, which holds requests back before they are counted, nor another disk beside it."""


class Platter(NamedTuple):
    """The platters beneath, and who says so."""

    rpm: int
    devices: tuple[Node, ...]
    because: tuple[str, ...]
    assumed: bool
    no_cache: bool
    """Every device has no volatile write cache: read, or declared by the user."""

    writes: Writes = "in place"
    """Where the slowest way leads that any of them may go."""

    @property
    def per_s(self) -> float:
        """Rewrites of one block."""
        least_ns = {"log": LOGGED_NS, "flash": NAND_PROGRAM_NS}.get(self.writes)
        return rewrites_per_s(self.rpm) if least_ns is None else 1e9 / least_ns

    @property
    def declared(self) -> bool:
        """The user knows the drives; a model's hidden flash may make a disk honestly faster than it turns."""
        return all(node.medium is not None and node.medium.declared for node in self.devices)

    @property
    def turns(self) -> str:
        told = f"{'at most ' if self.assumed else ''}{self.rpm} rpm"
        return told + {"in place": "", "log": " with a log on its platters", "flash": " with flash"}[self.writes]


class Pace(NamedTuple):
    """How fast one step went against the platter."""

    step: Step
    platter: Platter
    offsets: str

    @property
    def same(self) -> bool:
        """One block, over and over."""
        return self.offsets == "same"

    @property
    def limit_per_s(self) -> float:
        """One turn for the same block, else half a turn on average.

        At random offsets, because as many steps go back as forth, however near they lie: the way forth takes its share
        of a turn, the way back the rest of one. The block that follows has passed when the write before it is answered,
        so that its turn is nearly a whole one; half of it is allowed.
        """
        waits_for_block = self.platter.writes == "in place"
        return self.platter.per_s * (1 if self.same or not waits_for_block else 2)

    @property
    def times(self) -> float:
        return self.step.rate_per_s / self.limit_per_s

    @property
    def allowance(self) -> str:
        anywhere = self.same or self.platter.writes != "in place"
        half = "" if anywhere else f", at half a turn each for {self.offsets} offsets"
        return f"{self.platter.turns} allows {rate(self.limit_per_s)}{half}"

    @property
    def answered_early(self) -> str:
        """Of a step with O_DIRECT alone, how far it went beyond the limit."""
        return (
            f"O_DIRECT without a sync was answered {rate(self.step.rate_per_s)} times a second in "
            f"{words.time_measured([self.step])}, {self.times:.1f} × what is possible ({self.allowance})"
        )

    @property
    def because(self) -> str:
        done, limit = rate(self.step.rate_per_s), rate(self.limit_per_s)
        turn = duration_ns(60e9 / self.platter.rpm)
        return f"{self.step.name}: {done}/s, limit {limit}/s; {_typical(self.step)}, a turn {turn}"


class Rotation:
    """The platters, and the steps whose pace tells something of them."""

    def __init__(
        self, evidence: Evidence, stack: Stack, steps: Steps, configuration: Configuration, flushes: RunFlushes
    ) -> None:
        self._host, self._stack, self._steps = evidence.host, stack, steps
        self._configuration, self._flushes = configuration, flushes

    @cached_property
    def platter(self) -> Platter | None:
        """Known or declared; None where something else may answer, or the syncs are known not to arrive.

        rotational=1 of a virtual disk means nothing: virtio says so on any host.
        """
        lowest = self._stack.lowest
        if not lowest or not self._steps.all or self._configuration.breaks_sync or self._may_be_cached:
            return None
        speeds = [_speed(node, self._host) for node in lowest]
        known = [speed for speed in speeds if speed is not None]
        if not self._written_in_place or len(known) < len(speeds):
            return None
        media = [node.medium for node in lowest]
        return Platter(
            rpm=max(turns for turns, _ in known),
            devices=lowest,
            because=tuple(because for _, because in known),
            assumed=any(node.medium is None or rpm(node.medium) is None for node in lowest),
            no_cache=all(medium is not None and medium.write_cache == "none" for medium in media),
            writes=max((writes(node) for node in lowest), key=("in place", "log", "flash").index),
        )

    @cached_property
    def same_block(self) -> tuple[Pace, ...]:
        """The steps that rewrote and synced one block where it lies, as fast as they could."""
        return tuple(pace for pace in self._bound if pace.same and pace.platter.writes == "in place")

    @cached_property
    def too_fast(self) -> tuple[Pace, ...]:
        """The steps of synced writes that no platter can keep up with, wherever they write."""
        return tuple(pace for pace in self._bound if pace.times > BEYOND)

    @cached_property
    def turning(self) -> frozenset[str]:
        """The platters that take the time of those steps themselves, by their own counters."""
        if not self.same_block or self.too_fast:
            return frozenset()
        return frozenset.intersection(*(frozenset(self._busy(done)) for done in self._rewrites))

    @property
    def answers(self) -> bool:
        """Every platter beneath takes the time of a sync itself, so an early answer is not to be feared."""
        return self.platter is not None and self.turning.issuperset(node.id for node in self.platter.devices)

    @cached_property
    def early(self) -> tuple[Pace, ...]:
        """O_DIRECT steps that beat the platter, without those that only met a cache in memory."""
        if self.platter is None:
            return ()
        buffered = {account.step.name for account in self._flushes.not_direct}
        paces = (
            Pace(done.step, self.platter, done.settings.offsets)
            for done in self._steps.direct_alone
            if has_rate(done.step)
            and done.settings.offsets in {"same", "random"}
            and done.settings.prefill == "written"
        )
        return tuple(pace for pace in paces if pace.times > BEYOND and pace.step.name not in buffered)

    @property
    def switch_cache_off(self) -> tuple[str, ...]:
        """The step to take against a drive's own cache; none where it has none."""
        if self.platter is None or self.platter.no_cache:
            return ()
        where = "on the host" if self._host.virtualization else f"/dev/{self.platter.devices[0].id}"
        return (f"Switch the drive's write cache off (hdparm -W 0, {where}) and run again.",)

    @cached_property
    def _bound(self) -> tuple[Pace, ...]:
        """The steps that synced each write before the next one, as fast as they could: a turn or half a turn each."""
        if self.platter is None:
            return ()
        return tuple(
            Pace(done.step, self.platter, done.settings.offsets)
            for done in self._steps.synced
            if done.synced_alone and (done.overwrites_alone or done.settings.offsets != "same")
        )

    @cached_property
    def _rewrites(self) -> tuple[SyncStep, ...]:
        steps = self._steps.synced
        return tuple(done for done in steps if done.settings.offsets == "same" and done.overwrites_alone)

    def _busy(self, done: SyncStep) -> Iterator[str]:
        if any(each.others_wrote or each.outcome == "missing" or each.lacks_bytes for each in self._flushes.of(done)):
            return
        for own in done.step.counters:
            spent_ms = own.flush_ms if own.flushes else own.write_ms
            if spent_ms is not None and spent_ms >= OWN_SHARE * 1000 * done.step.elapsed_s:
                yield own.device

    @property
    def _may_be_cached(self) -> bool:
        return any(
            kind(node.kind).may_cache or node.layer in {"pool", "remote", "memory"} or _is_zoned(node)
            for node in self._stack.nodes
        )

    @property
    def _written_in_place(self) -> bool:
        return all(
            kind(node.kind).writes_in_place(node)
            for node in self._stack.filesystems
            if not kind(node.kind).over_filesystem
        )


def fastest(paces: tuple[Pace, ...]) -> Pace:
    """The one that is furthest beyond its limit."""
    return max(paces, key=lambda pace: pace.times)


def _speed(node: Node, host: Host) -> tuple[int, str] | None:
    medium = node.medium
    if protected_cache(node) or answers_for_disks(node):
        return None  # a cache answers, not the platter
    turns = rpm(medium) if medium else None
    grade = facts(node).grade
    named = grade is not None and grade.value == "hard disk"
    if turns:
        # an array or a controller may state the turns of its disks, and answer from a cache of its own
        unknown = medium is not None and not medium.declared and link(node.link).may_be_an_array
        return None if unknown and not named else (turns, words.medium(node))
    real = host.virtualization is None and not is_virtual(node)
    # by name alone: flash that states nothing is called rotating as well, and so is any drive behind a USB bridge
    if real and named and node.rotational and (medium is None or medium.class_ == "unknown"):
        unstated = f"{node.id}: a rotating {node.link} disk that does not state its revolutions"
        return ASSUMED_RPM, f"{unstated}: {ASSUMED_RPM} rpm assumed"
    return None


def _is_zoned(node: Node) -> bool:
    told = zoned(node)
    return told is not None and told.value


def _typical(step: Step) -> str:
    """p50, but the mean where a few slow operations carry the time (a throttled disk: p50 245 µs at 50/s)."""
    latency = step.latency_ns
    if latency is not None and latency.mean <= MEAN_TO_MEDIAN * latency.p50:
        return f"p50 {duration_ns(latency.p50)}"
    return f"{duration_ns(1e9 * step.elapsed_s / max(step.ops, 1))} each on average"
