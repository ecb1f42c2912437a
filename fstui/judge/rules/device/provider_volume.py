"""*plausible, low confidence*

## What it means
The disk is a volume of a cloud that writes through, so the kernel sends it no flush that could be counted. Its provider
documents that what was written is kept in several copies: a sync is then worth what that word is worth.

## How it was measured
Two names that agree: that of the box in DMI (`/sys/class/dmi/id`), and that of the disk (its NVMe model, its SCSI
vendor and model, or its place on Hyper-V's bus). `queue/write_cache` says write through, and the bytes of a synced step
were counted at the disk. The provider's document is named among the reasons.

## What it proves, and what not
Nothing of the volume was seen: this is the provider's word alone, so the confidence is never above low. Whoever runs a
hypervisor can set both names. Of a box that calls itself nobody's it says nothing. Azure's word holds where host
caching is None or ReadOnly; a kernel log of Microsoft's own shows such data disks as write through. Copies in one zone
do not outlive the zone. A volume that says write back is judged by its flushes, as any disk.

## What to do next
Stop the instance hard in the middle of acknowledged writes, with a witness elsewhere: it proves the way to the volume,
and nothing of a power cut where the volume lies, which only the provider can make.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flushes import FlushAccount
from fstui.model.judgement import Finding
from fstui.model.storage import Node
from fstui.storage.layers.devices.clouds import DMI, Model, name_line, provided

Volumes = dict[str, tuple[Node, Model]]
"""By the name of the device."""


@rule(place=15)
def provider_volume(case: Case) -> Iterator[Finding]:
    """A cloud's volume that writes through is as durable as its provider says."""
    found = _promised(case)
    through = any(node.write_cache == "write through" for node, _ in found.values())
    written = _written(case)
    if through and written and not case.costs.beyond_network:
        yield _by_its_word(case, found, written)


def _promised(case: Case) -> Volumes:
    """All that a sync waits for, where a provider documents something of each of them."""
    named = ((node, provided(node, case.host)) for node in case.commit_devices)
    found = {node.id: (node, row) for node, row in named if row is not None and row.promise}
    return found if len(found) == len(case.commit_devices) else {}


def _written(case: Case) -> tuple[FlushAccount, ...]:
    """What the lowest level received of each synced step, where nothing is known to be missing."""
    if case.flushes.lacking_bytes or case.flushes.lacking_flushes:
        return ()
    return tuple(way[-1] for way in case.flushes.synced if way[-1].written is not None)


def _by_its_word(case: Case, found: Volumes, written: tuple[FlushAccount, ...]) -> Finding:
    rows = tuple(dict.fromkeys(row for _, row in found.values()))
    where, kinds = words.listed(found), words.listed(row.says for row in rows)
    promises = words.listed(row.promise or "" for row in rows)
    return Finding(
        rule="provider-volume",
        verdict="plausible",
        confidence="low",
        scope="storage",
        title=f"{where}: durable by its provider's word",
        sentence=f"{where} is {kinds} by its own name and the box's, and writes through. {promises}: durable by that "
        f"word, of which nothing was seen in {words.time_measured(account.step for account in written)}. Whoever runs "
        "a hypervisor can set those names.",
        steps=words.names(account.step for account in written),
        because=(
            f"the box: {case.host.cloud} ({DMI})",
            *(line for node, _ in found.values() for line in (name_line(node), words.write_cache(node))),
            *(f"documented: {row.source}" for row in rows),
            *(account.byte_line for account in written),
        ),
        next=(
            "Stop the instance hard in the middle of acknowledged writes, with a witness elsewhere: it proves the way "
            "to the volume. What a power cut leaves where the volume lies, only its provider can show.",
        ),
    )
