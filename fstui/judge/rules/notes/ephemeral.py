"""*a note*

## What it means
The device belongs to this instance: its data is gone when the instance is stopped, moved or fails, however honest its
syncs are. A reboot keeps it, by what AWS, Google and Azure document.

## How it was measured
The model that the device states, or its place on Azure's bus; what becomes of the data is what its provider documents.

## What it proves, and what not
A separate axis from honesty: syncs may be honest here, and survive a power cut of the host, and the data still dies
with the instance. The verdict speaks of the syncs alone.

## What to do next
Keep a copy elsewhere: replication, or a volume that outlives the instance.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers.devices import clouds
from fstui.storage.layers.devices.clouds import Model


@rule(place=70)
def ephemeral(case: Case) -> Iterator[Finding]:
    """The data dies with the instance, however honest the syncs are."""
    found = [node for node in case.stack.lowest if node.medium and node.medium.ephemeral]
    if found:
        rows = tuple(dict.fromkeys(row for node in found if (row := clouds.named(node))))
        # only what was measured is called honest
        honest = "An honest sync would survive a power cut there,"
        if case.flushes.arrived:
            honest = "As far as was measured, syncs are honest here,"
        yield Finding(
            rule="ephemeral",
            verdict=None,
            confidence="high",
            scope="storage",
            title=f"{words.devices(found)}: ephemeral",
            sentence=f"{words.devices(found)} is local to this instance. {honest} and the data is still gone when the "
            f"instance stops, moves or fails.{_survival(rows)}",
            because=(
                *(f"{node.id}: {node.medium.because}" for node in found if node.medium),
                *(f"documented: {row.source}" for row in rows if row.survives),
            ),
            next=("Keep a copy elsewhere: replication, or a volume that outlives the instance.",),
        )


def _survival(rows: tuple[Model, ...]) -> str:
    """What its provider documents of a reboot, a stop, a failed host."""
    said = dict.fromkeys(row.survives for row in rows if row.survives)
    return f" {words.listed(said)}." if said else ""
