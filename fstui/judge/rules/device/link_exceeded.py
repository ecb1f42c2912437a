"""*suspicious, high confidence, for synced data; a note for O_DIRECT alone, or above compression*

## What it means
More bytes a second were called durable than the link to the disk can carry. They were still above it.

## How it was measured
Bytes written ÷ time of each step, against the payload of the negotiated rates of all links together (SATA, SAS, PCIe,
USB), with 10 % to spare. Not in guests: virtual links state what they like. Not where rule `bytes-missing` already says
that the bytes stayed above.

## What it proves, and what not
Between the counters of the block layer and the link sits only a driver or a controller with a cache. Compression and
deduplication above the link are honest; there it is a note. fstui writes fresh random bytes, which do not compress.

## What to do next
Look for a cache above the link: a controller's, or a layer of this box.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import has_rate
from fstui.model.judgement import Finding
from fstui.model.quantities import ratio
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.disk import facts, is_virtual

TOLERANCE = 1.1


@rule(place=80)
def link_exceeded(case: Case) -> Iterator[Finding]:
    """More bytes a second than the link carries. Virtual links state what they like."""
    payload = _payload_per_s(case.stack.lowest)
    if payload is None or case.host.virtualization or case.configuration.breaks_sync:
        return
    buffered = {account.step.name for account in (*case.flushes.not_direct, *case.flushes.lacking_bytes)}
    synced = (done.step for done in case.steps.synced if done.settings.sync_every == 1)
    durable, direct = (
        [step for step in steps if _is_beyond(step, payload) and step.name not in buffered]
        for steps in (synced, (done.step for done in case.steps.direct_alone))
    )
    if durable or direct:
        yield _exceeded(case.stack, payload, durable, direct)


def _exceeded(stack: Stack, payload: float, durable: list[Step], direct: list[Step]) -> Finding:
    fastest = max(durable or direct, key=_bytes_per_s)
    per_s = _bytes_per_s(fastest)
    reducing = any(
        kind(level.filesystem.kind).may_compress(level.filesystem) or level.reduces for level in stack.levels
    )
    return Finding(
        rule="link-exceeded",
        verdict="suspicious" if durable and not reducing else None,
        confidence="high",
        scope="storage" if durable else "step",
        title=f"{_mb(per_s)} MB/s over a link for {_mb(payload)} MB/s",
        sentence=f"{fastest.name} moved {_mb(per_s)} MB/s in {words.time_measured([fastest])}, "
        f"{ratio(per_s / payload)} × what the link to {words.devices(stack.lowest)} carries: the data was "
        f"{'compressed or ' if reducing else ''}held in a cache above the link when it was "
        f"{'called durable' if durable else 'answered'}.",
        steps=words.names([*durable, *direct]),
        because=(
            *(f"{step.name}: {_mb(_bytes_per_s(step))} MB/s" for step in (*durable, *direct)),
            *(line for node in stack.lowest for line in _lines(node)),
        ),
        next=("Look for a cache above the link: a controller's, or a layer of this box (lsblk -s, dmsetup table).",),
    )


def _payload_per_s(lowest: tuple[Node, ...]) -> float | None:
    """Bytes per second of all links together; None where one of them is not known."""
    payloads = [_payload(node) for node in lowest]
    known = [payload for payload in payloads if payload]
    return sum(known) if known and len(known) == len(payloads) else None


def _payload(node: Node) -> float | None:
    found = facts(node).payload_mb_s
    return None if found is None or is_virtual(node) else found.value * 1e6


def _is_beyond(step: Step, payload: float) -> bool:
    return has_rate(step) and _bytes_per_s(step) > TOLERANCE * payload


def _bytes_per_s(step: Step) -> float:
    return step.bytes / step.elapsed_s if step.elapsed_s else 0.0


def _lines(node: Node) -> Iterator[str]:
    told = facts(node)
    for found in (told.link_rate, told.payload_mb_s):
        if found:
            yield words.reading(node, found.reading)


def _mb(per_s: float) -> str:
    return f"{per_s / 1e6:.0f}"
