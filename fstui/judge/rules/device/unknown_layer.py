"""*cannot-tell, medium confidence*

## What it means
A filesystem or a device of the stack is of a kind that fstui does not know. What it does with a write and with a flush
is not known, so nothing that was counted above or below it is compared across it.

## How it was measured
The types of mounted filesystems, and the names of block devices and device-mapper targets.

## What it proves, and what not
It proves nothing: the layer may be as durable as any other. A fault that needs no knowledge of that layer, such as
barriers that are off above it, is still reported.

## What to do next
Run a power-cut test: `fstui powercut`. If the data is stored on another host, run fstui there.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.storage.layers import kind


@rule(place=91)
def unknown_layer(case: Case) -> Iterator[Finding]:
    """A layer of the stack is of a kind that fstui does not know."""
    found = [
        node for node in case.stack.written if not kind(node.kind).known and node.layer not in ("memory", "remote")
    ]
    if not found or case.configuration.breaks_sync:
        return
    names = words.listed(dict.fromkeys(f"{node.kind} ({node.name})" for node in found))
    yield Finding(
        rule="unknown-layer",
        verdict="cannot-tell",
        confidence="medium",
        scope="storage",
        title=f"{found[0].kind}: a layer that fstui does not know",
        sentence=f"fstui does not know the layer {names}: what it does with a sync is not known.",
        because=tuple(f"{node.id}: {node.kind}" for node in found),
        next=("A power-cut test gives an answer: fstui powercut. If another host stores the data, run fstui there.",),
    )
