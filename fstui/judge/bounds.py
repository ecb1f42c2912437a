"""Rules 16 and 18: what a network and a link cannot do, whatever the disk at their far end is."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.inventory.media import is_virtual
from fstui.judge import words
from fstui.judge.answering import answering
from fstui.judge.costs import fastest_synced
from fstui.judge.counting import compresses
from fstui.judge.descents import descents, lacking_bytes, undirected
from fstui.judge.layers import levels
from fstui.judge.override import explained
from fstui.judge.steps import direct_alone, has_rate, names, synced, time_measured
from fstui.model import Evidence, Finding, Node, Step, Target
from fstui.quantities import duration_ns, plain, rate, ratio

NETWORK_PER_S = 10_000
"""One round trip within a zone takes 50 to 250 µs, and a volume writes to several places before it answers."""
TOLERANCE = 1.1
_FABRICS = frozenset({"rdma", "tcp", "fc", "loop"})
_NETWORKS_OF_ONES_OWN = frozenset({"fc", "iscsi"})


def network_too_fast(evidence: Evidence) -> Iterator[Finding]:
    """Rule 16: a cloud's network volume answers a single writer faster than a network can."""
    target, fastest = evidence.target, fastest_synced(evidence)
    devices = answering(target) if target else ()
    if not devices or fastest is None or not all(_cloud_volume(node, evidence) for node in devices):
        return
    if fastest.rate_per_s >= NETWORK_PER_S and not explained(evidence) and not lacking_bytes(descents(evidence)):
        where, each = words.devices(devices), duration_ns(1e9 / fastest.rate_per_s)
        yield Finding(
            rule="network-too-fast",
            verdict="suspicious",
            confidence="medium",
            scope="storage",
            title=f"{rate(fastest.rate_per_s)}/s over a cloud's network",
            sentence=f"{where} is a network volume, and one writer had {rate(fastest.rate_per_s)} syncs a second "
            f"answered in {time_measured([fastest])}, {each} each: less than a cloud takes to write to several places. "
            "Something on this side of the network seems to answer.",
            steps=names([fastest]),
            because=(
                plain(f"{fastest.name}: {rate(fastest.rate_per_s)}/s, {each} each"),
                *(plain(f"{node.id} medium: {node.medium.because or 'network'}") for node in devices if node.medium),
            ),
            next=(
                "Look for a cache between: lsblk -s, and the volume's host caching (Azure: set it to none).",
                "To prove it: stop the instance hard in the middle of acknowledged writes, with a witness elsewhere.",
            ),
        )


def link_exceeded(evidence: Evidence) -> Iterator[Finding]:
    """Rule 18: more bytes a second than the link carries. Virtual links state what they like."""
    target = evidence.target
    payload = _payload_per_s(target) if target else None
    if target is None or payload is None or evidence.host.virtualization or explained(evidence):
        return
    buffered = {arrival.step.name for arrival in (*undirected(evidence), *lacking_bytes(descents(evidence)))}
    durable = [step for step, settings in synced(evidence) if settings.sync_every == 1 and _beyond(step, payload)]
    direct = [step for step, _ in direct_alone(evidence) if _beyond(step, payload)]
    durable, direct = ([step for step in steps if step.name not in buffered] for steps in (durable, direct))
    if durable or direct:
        yield _exceeded(target, payload, durable, direct)


def _exceeded(target: Target, payload: float, durable: list[Step], direct: list[Step]) -> Finding:
    fastest = max(durable or direct, key=_bytes_per_s)
    where, per_s = words.devices(target.lowest), _bytes_per_s(fastest)
    reducing = any(compresses(level.filesystem) or _reduces(level.path) for level in levels(target))
    suspicious = durable and not reducing
    return Finding(
        rule="link-exceeded",
        verdict="suspicious" if suspicious else None,
        confidence="high",
        scope="storage" if durable else "step",
        title=f"{_mb(per_s)} MB/s over a link for {_mb(payload)} MB/s",
        sentence=f"{plain(fastest.name)} moved {_mb(per_s)} MB/s in {time_measured([fastest])}, "
        f"{ratio(per_s / payload)} × what the link to {where} carries: the data was "
        f"{'compressed or ' if reducing else ''}held in a cache above the link when it was "
        f"{'called durable' if durable else 'answered'}.",
        steps=names([*durable, *direct]),
        because=(
            *(plain(f"{step.name}: {_mb(_bytes_per_s(step))} MB/s") for step in (*durable, *direct)),
            *(line for node in target.lowest for line in _link_lines(node)),
        ),
        next=("Look for a cache above the link: a controller's, or a layer of this box (lsblk -s, dmsetup table).",),
    )


def _cloud_volume(node: Node, evidence: Evidence) -> bool:
    """Not a fabric or a SAN of one's own: these do answer within tens of microseconds."""
    transport, grade = node.reading("transport"), node.reading("grade")
    own = (transport is not None and transport.value in _FABRICS) or node.link in _NETWORKS_OF_ONES_OWN
    of_cloud = (grade is not None and grade.value == "cloud") or evidence.host.cloud is not None
    return node.medium is not None and node.medium.class_ == "network" and of_cloud and not own


def _payload_per_s(target: Target) -> float | None:
    """Bytes per second of all links together; None where one of them is not known."""
    payloads = [_payload(node) for node in target.lowest]
    known = [payload for payload in payloads if payload]
    return sum(known) if known and len(known) == len(payloads) else None


def _payload(node: Node) -> float | None:
    found = node.reading("payload_mb_s")
    if found is None or not found.value.isdecimal() or is_virtual(node):
        return None
    return int(found.value) * 1e6


def _beyond(step: Step, payload: float) -> bool:
    return has_rate(step) and _bytes_per_s(step) > TOLERANCE * payload


def _bytes_per_s(step: Step) -> float:
    return step.bytes / step.elapsed_s if step.elapsed_s else 0.0


def _reduces(path: tuple[Node, ...]) -> bool:
    return any(node.layer == "pool" or node.kind in {"dm-vdo", "vdo", "dm-dedup"} for node in path)


def _link_lines(node: Node) -> Iterator[str]:
    for what in ("link_rate", "payload_mb_s"):
        if found := node.reading(what):
            yield words.reading(node, found)


def _mb(per_s: float) -> str:
    return f"{per_s / 1e6:.0f}"
