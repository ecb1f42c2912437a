"""*suspicious, medium confidence*

## What it means
A cloud's network volume answers one writer 10 000 times a second or more, which is less than a round trip and the
writing to several places take.

## How it was measured
The model names the volume as the cloud's; the rate is that of one writer whose bytes reached the device. NVMe over
fabrics, Fibre Channel, iSCSI, nbd and Ceph of one's own, and volumes that are reached by RDMA, are left alone: these
can be that fast.

## What it proves, and what not
Something nearer may answer: a host's cache, a read-write cache on a local disk. It may also be honest in a way that
nobody has published.

## What to do next
Look for a cache between (`lsblk -s`, Azure's host caching). To prove it: stop the instance hard, with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns, rate
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.devices import clouds
from fstui.storage.layers.devices.disk import facts, over_own_network


@rule(place=70)
def network_too_fast(case: Case) -> Iterator[Finding]:
    """A cloud's network volume answers a single writer faster than a network can."""
    devices, fastest = case.commit_devices, case.costs.fastest_synced
    if not devices or fastest is None or not all(map(_is_cloud_volume, devices)):
        return
    syncs_lost_above = case.configuration.breaks_sync or case.flushes.lacking_bytes
    if case.costs.beyond_network and not syncs_lost_above:
        yield _too_fast(devices, fastest)


def _too_fast(devices: tuple[Node, ...], fastest: Step) -> Finding:
    per_s, each = rate(fastest.rate_per_s), duration_ns(1e9 / fastest.rate_per_s)
    return Finding(
        rule="network-too-fast",
        verdict="suspicious",
        confidence="medium",
        scope="storage",
        title=f"{per_s}/s over a cloud's network",
        sentence=f"{words.devices(devices)} is a network volume, and one writer had {per_s} syncs a second answered in "
        f"{words.time_measured([fastest])}, {each} each: less than a cloud takes to write to several places. Something "
        "on this side of the network seems to answer.",
        steps=words.names([fastest]),
        because=(
            f"{fastest.name}: {per_s}/s, {each} each",
            *(f"{node.id} medium: {node.medium.because or 'network'}" for node in devices if node.medium),
        ),
        next=(
            "Look for a cache between: lsblk -s, and the volume's host caching (Azure: set it to none).",
            "To prove it: stop the instance hard in the middle of acknowledged writes, with a witness elsewhere.",
        ),
    )


def _is_cloud_volume(node: Node) -> bool:
    """Not a fabric, a SAN or a server of one's own, whoever the box is, nor one that its provider reaches by RDMA:
    these do answer within tens of microseconds."""
    grade, row = facts(node).grade, clouds.named(node)
    of_cloud = row is not None or (grade is not None and grade.value == "cloud")
    near = over_own_network(node) or (row is not None and row.near)
    return node.medium is not None and node.medium.class_ == "network" and of_cloud and not near
