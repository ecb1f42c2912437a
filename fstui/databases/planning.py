"""Before the first byte: which of the servers that a scenario wants are here, and what an existing one leaves open."""

from __future__ import annotations

import shutil

import msgspec

from fstui.databases import existing, programs
from fstui.databases.programs import PACKAGES, TITLES
from fstui.model import PlannedStep, Refused, Sysbench

_START_S = 2.0
_ROWS_PER_S = 60_000
_PROBE, _FILEIO = "sysbench", "sysbench_fileio"


async def arranged(steps: tuple[PlannedStep, ...], chosen_by_user: bool) -> tuple[PlannedStep, ...]:
    """The steps as they can be run here. Raises Refused where the tools are missing.

    A server that is not installed leaves one skipped step in the place of all of its own; it is refused where the user
    asked for it by name, and where none is left.
    """
    if any(step.probe == _FILEIO for step in steps):
        return tuple(map(_without_sysbench, steps))
    wanting = [step for step in steps if step.probe == _PROBE]
    if not wanting:
        return steps
    await programs.find_sysbench()
    kinds = tuple(dict.fromkeys(step.settings["server"] for step in wanting))
    if existing.is_meant(_settings(wanting[0])):
        return _on_existing(steps, kinds)
    missing = [kind for kind in kinds if await programs.find_server(kind) is None]
    if missing and (chosen_by_user or len(missing) == len(kinds)):
        raise Refused(f"no database server to run: {'; '.join(map(_missing, missing))}")
    return tuple(_without(steps, missing))


def _without_sysbench(step: PlannedStep) -> PlannedStep:
    """fileio's steps are skipped where sysbench is missing: the scenario's other steps need none."""
    if step.probe != _FILEIO or shutil.which("sysbench"):
        return step
    return msgspec.structs.replace(step, skip="sysbench is not installed: apt-get install sysbench")


def preparing_s(steps: tuple[PlannedStep, ...]) -> float:
    """About what it takes to start the servers and to fill them."""
    seconds, before = 0.0, None
    for step in steps:
        if step.probe == _PROBE and not step.skip:
            settings = _settings(step)
            server = (settings.server, settings.options, settings.pool_bytes, settings.tables, settings.rows)
            if server != before:
                seconds += _START_S + settings.tables * settings.rows / _ROWS_PER_S
            before = server
    return seconds


def _without(steps: tuple[PlannedStep, ...], missing: list[str]) -> list[PlannedStep]:
    kept: dict[str, PlannedStep] = {}
    for step in steps:
        kind = step.settings.get("server") if step.probe == _PROBE else None
        if kind in missing:
            skipped = msgspec.structs.replace(step, name=kind, skip=_missing(kind))
            kept.setdefault(kind, skipped)
        else:
            kept[step.name] = step
    return list(kept.values())


def _on_existing(steps: tuple[PlannedStep, ...], kinds: tuple[str, ...]) -> tuple[PlannedStep, ...]:
    """What differs only in options that would have to be changed on that server is one step."""
    if len(kinds) > 1:
        raise Refused(f"--set server=KIND says what kind the existing server is: {', '.join(kinds)}")
    kept: dict[str, PlannedStep] = {}
    for step in steps:
        if step.probe == _PROBE:
            settings = {**step.settings, "options": {}}
            threads = settings["threads"]
            name = settings["workload"] + (f" threads {threads}" if threads > 1 else "")
            kept.setdefault(name, msgspec.structs.replace(step, name=name, settings=settings))
        else:
            kept[step.name] = step
    return tuple(kept.values())


def _settings(step: PlannedStep) -> Sysbench:
    return msgspec.convert(step.settings, Sysbench)


def _missing(kind: str) -> str:
    return f"{TITLES[kind]} is not installed: apt-get install {PACKAGES[kind]}"
