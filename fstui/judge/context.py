"""Rule 23 and the notes: what to know beside the verdict.

Rule 19, group commit, is kept by leaving out: no rule judges the rate of a step with more than one writer.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.arrival import flushes_arrive
from fstui.judge.counting import MIN_IDLE_S, Arrival, flushed_each
from fstui.judge.descents import noisy
from fstui.judge.layers import levels
from fstui.judge.steps import in_effect, names, settings_of, synced_by_mount, time_measured
from fstui.model import Evidence, Finding, Step
from fstui.quantities import count, plain, rate, ratio, seconds, size

_SYNC_CALLS = frozenset({"fsync", "fdatasync"})
_WRITE_CALLS = frozenset({"write", "pwrite", "pwritev", "pwritev2"})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def stack_state(evidence: Evidence) -> Iterator[Finding]:
    """Rule 23: the stack itself is in trouble, so a measurement is worth less, or nothing."""
    troubled = [(node, state) for node in (evidence.target.stack if evidence.target else ()) for state in node.state]
    if troubled:
        said = words.listed(plain(f"{words.named(node)} {state.what}: {state.value}") for node, state in troubled)
        yield Finding(
            rule="stack-state",
            verdict=None,
            confidence="high",
            scope="storage",
            title=plain(f"{words.named(troubled[0][0])} {troubled[0][1].what}: {troubled[0][1].value}"),
            sentence=f"The stack is in trouble ({said}): what is measured now does not tell how it behaves when whole.",
            because=tuple(words.reading(node, state) for node, state in troubled),
            next=("Look at the kernel's log (dmesg), mend this first, then run again.",),
        )


def sync_error(evidence: Evidence) -> Iterator[Finding]:
    """A sync that failed: the pages may be marked clean and a second try succeed, with the data gone."""
    for step in evidence.steps:
        error = step.error
        if error is None or error.call not in _SYNC_CALLS | _WRITE_CALLS:
            continue
        lost = error.errno == errno.EIO and (error.call in _SYNC_CALLS or _writes_are_synced(evidence, step))
        name = errno.errorcode.get(error.errno or 0, "an error")
        meaning = (
            "The kernel may have marked the pages clean: a second sync would succeed with the data gone."
            if lost
            else "There was no room left."
            if error.errno in _FULL
            else "The step ended there; what was synced before it stands."
        )
        yield Finding(
            rule="sync-error",
            verdict="not-durable" if lost else None,
            confidence="high",
            scope="storage" if lost else "step",
            title=f"{plain(error.call)} failed with {name}",
            sentence=f"In step {plain(step.name)}, {plain(error.call)} failed with {name} after {count(step.ops)} "
            f"operations, in {time_measured([step])}. {meaning}",
            steps=(step.name,),
            because=(plain(f"{step.name}: {error.call}: {error.message}"),),
            next=("Look at the kernel's log (dmesg) and the disk's own (smartctl -a), and copy the data off first.",)
            if error.errno == errno.EIO
            else (),
        )


def odirect_alone(evidence: Evidence) -> Iterator[Finding]:
    """O_DIRECT promises nothing about power cuts: no flush is sent, on any disk."""
    steps = [step for step in evidence.steps if step.ops and _is_direct_alone(evidence, step)]
    if steps and evidence.target and any(node.layer == "block" for node in evidence.target.stack):
        done = words.listed(f"{rate(step.rate_per_s)}/s" for step in steps)
        yield Finding(
            rule="odirect-alone",
            verdict=None,
            confidence="high",
            scope="step",
            title="O_DIRECT alone: not durable by itself",
            sentence=f"O_DIRECT without a sync ({done}) sends no flush, on this disk as on every other: not durable by "
            "itself.",
            steps=names(steps),
            because=tuple(plain(f"{step.name}: {count(step.ops)} writes, no sync asked for") for step in steps),
            next=("For durability add O_DSYNC, or fdatasync after the write.",),
        )


def mounted_sync(evidence: Evidence) -> Iterator[Finding]:
    """``-o sync`` makes every write durable before a program asks for it."""
    target = evidence.target
    filesystem = levels(target)[0].filesystem if target and synced_by_mount(evidence) else None
    option = filesystem.reading("sync_option") if filesystem else None
    if target and filesystem and option:
        yield Finding(
            rule="mounted-sync",
            verdict=None,
            confidence="high",
            scope="storage",
            title="mounted with -o sync: every write is synced",
            sentence=f"{plain(target.mount_point)} is mounted with -o sync: each write is synced by itself. A program "
            "that never syncs is as slow and as safe as one that does, and one that does pays twice.",
            because=(words.reading(filesystem, option),),
            next=(plain(f"To see what the calls do by themselves: mount -o remount,async {target.mount_point}"),),
        )


def other_writers(evidence: Evidence) -> Iterator[Finding]:
    """Somebody else writes to these devices: named, counted, never subtracted."""
    while_idle, busy = _while_idle(evidence), list(noisy(evidence))
    writers = evidence.idle.writers if evidence.idle else ()
    if while_idle or busy:
        yield Finding(
            rule="other-writers",
            verdict=None,
            confidence="low",
            scope="storage",
            title=f"by others: {while_idle[0]}" if while_idle else f"others wrote during {plain(busy[0].step.name)}",
            sentence=f"Others write to the same devices ({words.listed(while_idle) or 'not while fstui was idle'}). "
            "They only add: too few flushes stay too few, while enough of them prove nothing.",
            steps=names(arrival.step for arrival in busy),
            because=(
                *(f"while idle: {line}" for line in while_idle),
                *(_surplus(arrival) for arrival in busy),
                *(plain(f"writer: {writer.name} ({writer.pid}), {size(writer.written_bytes)}") for writer in writers),
            ),
        )


def ephemeral(evidence: Evidence) -> Iterator[Finding]:
    """The data dies with the instance, however honest the syncs are."""
    found = [
        node for node in (evidence.target.lowest if evidence.target else ()) if node.medium and node.medium.ephemeral
    ]
    if found:
        yield Finding(
            rule="ephemeral",
            verdict=None,
            confidence="high",
            scope="storage",
            title=f"{words.devices(found)}: ephemeral",
            sentence=f"{words.devices(found)} is local to this instance. {_honest(evidence)} and the data is still "
            "gone when the instance stops, moves or fails.",
            because=tuple(plain(f"{node.id}: {node.medium.because}") for node in found if node.medium),
            next=("Keep a copy elsewhere: replication, or a volume that outlives the instance.",),
        )


def _honest(evidence: Evidence) -> str:
    """Only what was measured is called honest."""
    arrived = [finding for finding in flushes_arrive(evidence) if finding.verdict == "consistent"]
    if arrived and arrived[0].steps:
        return "As far as was measured, syncs are honest here,"
    return "An honest sync would survive a power cut there,"


def stalls(evidence: Evidence) -> Iterator[Finding]:
    """Operations much slower than the rest. A closed loop counts each once, however long it held everybody up."""
    steps = [step for step in evidence.steps if step.stalls.count]
    if steps:
        number, lost_s = sum(step.stalls.count for step in steps), sum(step.stalls.lost_s for step in steps)
        yield Finding(
            rule="stalls",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"{count(number)} stalls, {seconds(lost_s)} lost",
            sentence=f"{count(number)} operations stalled and cost {seconds(lost_s)} of {time_measured(steps)}; the "
            "percentiles count each of them once.",
            steps=names(steps),
            because=tuple(
                plain(f"{step.name}: {count(step.stalls.count)} stalls, {seconds(step.stalls.lost_s)}")
                for step in steps
            ),
        )


def disturbed(evidence: Evidence) -> Iterator[Finding]:
    """The probe itself was held up: no rule about rates rests on such a step."""
    steps = [step for step in evidence.steps if step.status == "disturbed"]
    if steps:
        yield Finding(
            rule="disturbed",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"fstui was held up in {count(len(steps))} of {count(len(evidence.steps))} steps",
            sentence=f"fstui itself was held up while measuring {words.listed(plain(step.name) for step in steps)}, so "
            "no rate of these is judged.",
            steps=names(steps),
            because=tuple(plain(f"{step.name}: held up {_held(step)}") for step in steps),
            next=("Run again when the machine is less busy, or with more seconds per step.",),
        )


def _while_idle(evidence: Evidence) -> list[str]:
    """What our devices did by themselves, the busiest first."""
    idle, target = evidence.idle, evidence.target
    if target is None or idle is None or idle.elapsed_s < MIN_IDLE_S:
        return []
    devices = {device.id for level in levels(target) for device in level.devices}
    seen = [found for found in idle.counters if found.device in devices and (found.flushes or found.writes)]
    seen.sort(key=lambda found: -(found.flushes or 0))
    return [
        plain(
            f"{found.device} {rate((found.flushes or 0) / idle.elapsed_s)} flushes/s, "
            f"{rate((found.writes or 0) / idle.elapsed_s)} writes/s"
        )
        for found in seen
    ]


def _surplus(arrival: Arrival) -> str:
    surplus = f", {size(arrival.surplus_bytes)} more than was written" if arrival.surplus_bytes else ""
    received = f"{ratio(arrival.most_per_sync)} flushes per sync, {words.owed(arrival.owed)} owed{surplus}"
    return plain(f"{arrival.step.name}: {received} at {words.devices(arrival.devices)}")


def _writes_are_synced(evidence: Evidence, step: Step) -> bool:
    settings = settings_of(step)
    own = settings is not None and bool({"dsync", "sync"} & set(settings.open_flags))
    return own or synced_by_mount(evidence)


def _is_direct_alone(evidence: Evidence, step: Step) -> bool:
    settings = in_effect(evidence, step)
    alone = settings is not None and settings.open_flags == ("direct",) and settings.sync == "none"
    return alone and not flushed_each(evidence, step)


def _held(step: Step) -> str:
    return f"{seconds(step.held_ns / 1e9)} of {seconds(step.elapsed_s)}"
