"""Simulated disks: the list of them, and what one is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from fstui.report.reach import Place, Reach
from fstui.report.sections import Report, Section
from fstui.simulate.parameters import Part, Simulated


def of_disks(disks: Sequence[Simulated]) -> Report:
    """A row for each."""
    rows = tuple((made.name, made.title) for made in disks)
    document = [{"name": made.name, "title": made.title} for made in disks]
    starting = Section("", lines=("fstui --simulate DISK starts the app on one of them.",))
    return Report("", (Section("", ("DISK", "WHAT IT IS"), rows), starting), document)


def of_disk(made: Simulated, *, truth: bool) -> Report:
    """Its parameters by the names that change them; ``truth``: what it does, too."""
    shown = {key: _as_typed(value) for key, value in _parameters(made, "") if truth or not _tells(key)}
    key, value = list(shown.items())[-1]
    told = made.truth if truth else "What it does in truth: --truth"
    changing = f"fstui --simulate {made.name},{key}={value} starts the app on it."
    document = {"name": made.name, "title": made.title, "parameters": shown} | ({"truth": told} if truth else {})
    table = Section("", ("PARAMETER", "VALUE"), tuple(shown.items()))
    return Report(f"{made.name}: {made.title}", (table, Section("", lines=(told, changing))), document)


def in_truth(made: Simulated, said: Reach, below: Sequence[Place]) -> Reach:
    """How far a write has come there in truth, where its sync is answered by what does not do it."""
    if said.stopped or said.place < len(below) - 1:
        return said
    if made.host.syncs_stubbed:
        return said._replace(place=int(said.past_memory), note="the sync never left the process", stopped=True)
    if any(part and part.cache and part.cache.flush == "ignored" for part in made.parts):
        return said._replace(place=max(len(below) - 2, 0), note="answered by the cache", stopped=True)
    return said


def _as_typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tells(key: str) -> bool:
    """What would give it away."""
    return key.endswith((".cache.flush", ".cache.fua", ".syncs_stubbed"))


def _parameters(part: Part, prefix: str) -> Iterator[tuple[str, object]]:
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Part):
            yield from _parameters(value, f"{prefix}{field.name}.")
        elif prefix and value not in (None, ""):
            yield f"{prefix}{field.name}", value
