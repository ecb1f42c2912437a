"""Rule 11 and its two companions: a rotating disk cannot rewrite one block more often than it turns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.counting import flushed_each
from fstui.judge.descents import counted, undirected
from fstui.judge.owed import call
from fstui.judge.rotation import Rotation, rotation
from fstui.judge.steps import direct_alone, has_rate, names, synced, time_measured
from fstui.model import Confidence, Evidence, Finding, Host, Step, SyncWrites
from fstui.quantities import duration_ns, plain, rate, ratio, size

WITHIN, BEYOND, FAR_BEYOND = 1.1, 1.5, 5
_MEAN_TO_MEDIAN = 3
_WITNESS = "To prove it: cut the power in the middle of acknowledged writes, with a witness on another box."


class _Pace(NamedTuple):
    """How fast one step went against the platter."""

    step: Step
    platter: Rotation
    random: bool

    @property
    def limit_per_s(self) -> float:
        """One turn for the same block, half a turn on average at random offsets within a track."""
        return self.platter.per_s * (2 if self.random else 1)

    @property
    def times(self) -> float:
        return self.step.rate_per_s / self.limit_per_s

    @property
    def allowance(self) -> str:
        half = ", at half a turn each for random offsets" if self.random else ""
        return f"{self.platter.turns} allows {rate(self.limit_per_s)}{half}"

    @property
    def because(self) -> str:
        done, limit = rate(self.step.rate_per_s), rate(self.limit_per_s)
        turn = duration_ns(60e9 / self.platter.rpm)
        return plain(f"{self.step.name}: {done}/s, limit {limit}/s; {_typical(self.step)}, a turn {turn}")


def same_block_rotation(evidence: Evidence) -> Iterator[Finding]:
    """Rule 11: one block rewritten and synced, against the turns of the platter."""
    platter = rotation(evidence)
    if platter is None:
        return
    paces = [
        _Pace(step, platter, False)
        for step, settings in synced(evidence)
        if has_rate(step) and _rewrites_one_block(settings)
    ]
    beyond = [pace for pace in paces if pace.times > BEYOND]
    if beyond:
        yield _too_fast(evidence, platter, beyond)
    elif paces:
        fastest = max(paces, key=_times)
        low = fastest.times > WITHIN or platter.assumed or evidence.host.virtualization
        confidence: Confidence = "low" if low else "medium"
        yield Finding(
            rule="same-block-rotation",
            verdict="consistent",
            confidence=confidence,
            scope="storage",
            title=f"{rate(fastest.step.rate_per_s)}/s, {fastest.allowance}",
            sentence=f"One block was rewritten and synced {rate(fastest.step.rate_per_s)} times a second, and "
            f"{fastest.allowance}: no faster than a platter. This covers {time_measured(pace.step for pace in paces)}; "
            "only a power cut proves more.",
            steps=names(pace.step for pace in paces),
            because=(*(pace.because for pace in paces), *platter.because),
            next=(_WITNESS,),
        )


def platter_speed(evidence: Evidence) -> bool:
    """The syncs are as slow as the platter beneath: it answers them, so an early answer is not to be feared."""
    return any(finding.verdict == "consistent" for finding in same_block_rotation(evidence))


def odirect_before_platter(evidence: Evidence) -> Iterator[Finding]:
    """O_DIRECT alone was answered before the platter can have had the data: said of the step, not of the disk."""
    paces = [pace for pace in _early(evidence) if not flushed_each(evidence, pace.step)]
    if paces:
        worst = max(paces, key=_times)
        yield Finding(
            rule="odirect-before-platter",
            verdict="not-durable",
            confidence="high" if worst.times > FAR_BEYOND else "medium",
            scope="step",
            title=f"O_DIRECT {rate(worst.step.rate_per_s)}/s, platter {rate(worst.limit_per_s)}",
            sentence=f"{_answered(worst)}: most writes were acknowledged before the platter had them."
            f"{_against_synced(evidence, worst)}",
            steps=names(pace.step for pace in paces),
            because=(*(pace.because for pace in paces), *worst.platter.because),
            next=(
                "Do not take O_DIRECT for durability: add O_DSYNC, or fdatasync after the write.",
                *_switch_off(worst.platter, evidence.host),
            ),
        )


def odirect_no_cache(evidence: Evidence) -> Iterator[Finding]:
    """The same, on a device that is said to have no volatile cache from which to answer early."""
    paces = [pace for pace in _early(evidence) if pace.platter.no_cache]
    if paces:
        worst = max(paces, key=_times)
        yield Finding(
            rule="odirect-no-cache",
            verdict="suspicious",
            confidence="high" if worst.times > FAR_BEYOND else "medium",
            scope="storage",
            title=f"O_DIRECT {rate(worst.step.rate_per_s)}/s on a disk with no cache",
            sentence=f"{_answered(worst)}, and there is no write cache to answer from. Some layer beneath acknowledges "
            "early.",
            steps=names(pace.step for pace in paces),
            because=(*(pace.because for pace in paces), *worst.platter.because),
            next=(
                "Make sure that the real drive's write cache is off: hdparm -W, smartctl -g wcache.",
                *_hypervisor(evidence.host),
                _WITNESS,
            ),
        )


def _times(pace: _Pace) -> float:
    return pace.times


def _rewrites_one_block(settings: SyncWrites) -> bool:
    unpaced = settings.ops_per_s == 0 and settings.sync_every == 1
    return unpaced and settings.offsets == "same" and settings.prefill == "written" and call(settings) is not None


def _early(evidence: Evidence) -> list[_Pace]:
    """O_DIRECT steps that beat the platter, without those that only met a cache in memory."""
    platter = rotation(evidence)
    buffered = {arrival.step.name for arrival in undirected(evidence)}
    paces = [
        _Pace(step, platter, settings.offsets == "random")
        for step, settings in direct_alone(evidence)
        if platter and has_rate(step) and settings.offsets in {"same", "random"} and settings.prefill == "written"
    ]
    return [pace for pace in paces if pace.times > BEYOND and pace.step.name not in buffered]


def _answered(pace: _Pace) -> str:
    return (
        f"O_DIRECT without a sync was answered {rate(pace.step.rate_per_s)} times a second in "
        f"{time_measured([pace.step])}, {pace.times:.1f} × what is possible ({pace.allowance})"
    )


def _against_synced(evidence: Evidence, pace: _Pace) -> str:
    offsets = "random" if pace.random else "same"
    beside = [step for step, settings in synced(evidence) if settings.offsets == offsets and step.rate_per_s > 0]
    if not beside:
        return ""
    # the nearest relative first: O_DIRECT that does sync
    step = min(beside, key=lambda other: "direct" not in other.settings.get("open_flags", ()))
    times = pace.step.rate_per_s / step.rate_per_s
    return f" It is {times:.1f} × the rate of {plain(step.name)}, {rate(step.rate_per_s)}/s."


def _too_fast(evidence: Evidence, platter: Rotation, paces: list[_Pace]) -> Finding:
    worst = max(paces, key=_times)
    step = worst.step
    down = counted(evidence, step)
    as_owed = bool(down) and not any(arrival.lacks_flushes for arrival in down)
    explanation = "A non-volatile cache, or a lie."
    if as_owed and down[-1].per_sync:
        where = words.devices(down[-1].devices)
        explanation = (
            f"Each sync reached {where} as a flush ({ratio(down[-1].per_sync)}), so the early answer comes from "
            f"{where} or from what is behind it: a non-volatile cache, or a lie."
        )
    return Finding(
        rule="same-block-rotation",
        verdict="suspicious",
        confidence="high" if worst.times > FAR_BEYOND and as_owed else "medium",
        scope="storage",
        title=f"{rate(step.rate_per_s)}/s, {worst.allowance}",
        sentence=f"One {size(step.bytes / max(step.ops, 1))} block was rewritten and synced {rate(step.rate_per_s)} "
        f"times a second in {time_measured([step])}; a disk of {platter.turns} turns {rate(platter.per_s)} times: "
        f"{worst.times:.1f} × what it can do. {explanation}",
        steps=names(pace.step for pace in paces),
        because=(*(pace.because for pace in paces), *platter.because),
        next=(*_hypervisor(evidence.host), *_switch_off(platter, evidence.host), _WITNESS),
    )


def _typical(step: Step) -> str:
    """p50, but the mean where a few slow operations carry the time (a throttled disk: p50 245 µs at 50/s)."""
    latency = step.latency_ns
    if latency is not None and latency.mean <= _MEAN_TO_MEDIAN * latency.p50:
        return f"p50 {duration_ns(latency.p50)}"
    return f"{duration_ns(1e9 * step.elapsed_s / max(step.ops, 1))} each on average"


def _switch_off(platter: Rotation, host: Host) -> tuple[str, ...]:
    if platter.no_cache:
        return ()
    where = "on the host" if host.virtualization else f"/dev/{plain(platter.devices[0].id)}"
    return (f"Switch the drive's write cache off (hdparm -W 0, {where}) and run again.",)


def _hypervisor(host: Host) -> tuple[str, ...]:
    if not host.virtualization:
        return ()
    if host.virtualization in {"oracle", "virtualbox"}:
        return ("VirtualBox: set IgnoreFlush to 0 for this disk, then run again.",)
    return ("On the host: this disk must not ignore flushes (VirtualBox IgnoreFlush=0; not QEMU cache=unsafe).",)
