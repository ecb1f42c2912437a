"""*plausible, low confidence*

## What it means
The data lies in persistent memory: an NVDIMM, or what a hypervisor makes of one. A sync writes back the CPU's caches,
or drains the memory controller's queues; there is no cache of a disk that a flush would empty. What has come that far
outlives a power cut, if the platform keeps its word.

## How it was measured
`persistence_domain` of the device's region (`/sys/bus/nd/devices/region*/`): `memory_controller` or `cpu_cache`, by
what the firmware states (ACPI NFIT, platform capabilities). The kernel leaves it out where the firmware says nothing,
and for memory that is only called persistent (`memmap=`). Synced writes were answered.

## What it proves, and what not
Nothing was counted: DAX passes every counter by, and the driver has no queue of requests without it; that a flush was
asked for, without DAX, only the kernel's trace sees. The energy that empties the controller's queues is the platform's
to keep. A hypervisor states what it likes of a file.

## What to do next
`ndctl list -DH` shows the modules' health and dirty shutdowns. To prove it: a power cut with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.storage import Node
from fstui.storage.layers.devices.pmem import domain
from fstui.storage.layers.facts import word


@rule(place=55)
def persistent_memory(case: Case) -> Iterator[Finding]:
    """Persistent memory is as durable as its platform says."""
    devices, synced = case.commit_devices, case.steps.synced
    reached = dict.fromkeys(told.value for node in devices if (told := domain(node)))
    if not (synced and reached and all(map(domain, devices))) or case.configuration.breaks_sync:
        return
    where, steps = words.devices(devices), [done.step for done in synced]
    stated = "The hypervisor states" if case.host.virtualization else "The platform states"
    yield Finding(
        rule="persistent-memory",
        verdict="plausible",
        confidence="low",
        scope="storage",
        title=f"{where}: persistent memory, by the platform's word",
        sentence=f"{where} is persistent memory: a sync there has no cache of a disk to empty. {stated} that what "
        f"has reached {words.listed(reached)} outlives a power cut; nothing of that was seen in "
        f"{words.time_measured(steps)}.",
        steps=words.names(steps),
        because=tuple(line for node in devices for line in _lines(node)),
        next=("ndctl list -DH shows the modules' health and their dirty shutdowns.", words.CUT_THE_POWER),
    )


def _lines(node: Node) -> Iterator[str]:
    told = (domain(node), word(node, "provider"))
    yield from (words.reading(node, found.reading) for found in told if found)
