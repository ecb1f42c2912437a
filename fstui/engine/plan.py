"""A scenario and a directory → what a run will do, before the first byte is written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from fstui import scenario as scenarios
from fstui.databases.planning import arranged, preparing_s
from fstui.engine.amounts import amounts
from fstui.engine.machine import Machine
from fstui.judge import limits
from fstui.model import (
    CACHES,
    MEDIA,
    Medium,
    MediumCache,
    MediumClass,
    Node,
    Plan,
    PlannedStep,
    Refused,
    Target,
)
from fstui.quantities import plain, size

IDLE_S = 1.0
PAUSE_S = 0.25
START_S = 0.15
"""About what a probe takes from its start to ``ready``, its file apart."""
LEFT_OVER = 0.05
_CACHES_OF = {"ssd-plp": "plp", "raid-cache": "plp", "optane": "none"}
"""What declaring such a medium says of its write cache, where the user says nothing else of it."""


async def make_plan(
    scenario: str,
    directory: str,
    machine: Machine,
    settings: dict[str, str] | None = None,
    *,
    medium: str | None = None,
    write_cache: str | None = None,
) -> tuple[Target, Plan]:
    """The target with its stack and the plan. Raises Refused with a sentence for the user; writes nothing."""
    loaded = scenarios.load(scenario)
    reference, steps = scenarios.expand(loaded, settings or {})
    _check_declaration(medium, write_cache)
    if machine.simulated is None:
        steps = await arranged(steps, chosen_by_user="server" in (settings or {}))
    place = await machine.inspect(directory)
    target = msgspec.structs.replace(machine.target(place.path), space=place.space)
    if target.pseudo:
        raise Refused(f"{plain(place.path)} is on {target.fstype}, which holds no files. Name a directory on a disk.")
    if place.closed:  # only now: no right to write helps on /proc
        raise Refused(place.closed)
    target = declare(target, medium, write_cache)
    like = machine.like()
    options = {"--medium": medium, "--write-cache": write_cache, "--like": like.pid if like else None}
    held = [amounts(step).held for step in steps]
    room_bytes = sum(held) if any(step.by_hand for step in steps) else max(held, default=0)
    _check_room(target, room_bytes)
    return target, Plan(
        scenario=reference,
        question=loaded.question,
        help=loaded.help.strip(),
        steps=tuple(_with_limit(step, target) for step in steps),
        seconds=_seconds(steps),
        max_bytes=sum(amounts(step).written for step in steps),
        room_bytes=room_bytes,
        bytes_per_s=_open_ended_bytes_per_s(steps),
        command=powercut_command(place.path, settings or {})
        if any(step.by_hand for step in steps)
        else _command(scenario, place.path, settings or {}, options),
    )


def declare(target: Target, medium: str | None, write_cache: str | None) -> Target:
    """The same target with what the user says its lowest devices really are."""
    if medium is None and write_cache is None:
        return target
    stack = tuple(_declared(node, medium, write_cache) if node.lowest else node for node in target.stack)
    return msgspec.structs.replace(target, stack=stack)


def _declared(node: Node, medium: str | None, write_cache: str | None) -> Node:
    read = node.medium or Medium()
    class_ = medium or read.class_
    said = [f"medium {medium}"] if medium else []
    said += [f"write cache {write_cache}"] if write_cache else []
    rpm = int(class_.removeprefix("hdd-")) if class_.startswith("hdd-") else None
    declared = Medium(
        class_=msgspec.convert(class_, MediumClass),
        rpm=read.rpm if medium is None else rpm,
        write_cache=msgspec.convert(write_cache or _CACHES_OF.get(medium or "") or read.write_cache, MediumCache),
        ephemeral=read.ephemeral,
        declared=True,
        because=f"declared by you: {', '.join(said)}",
    )
    return msgspec.structs.replace(node, medium=declared)


def _check_declaration(medium: str | None, write_cache: str | None) -> None:
    if medium is not None and medium not in MEDIA:
        raise Refused(f"no medium '{plain(medium)}'. There are: {', '.join(MEDIA)}.")
    if write_cache is not None and write_cache not in CACHES:
        raise Refused(f"no write cache '{plain(write_cache)}'. There are: {', '.join(CACHES)}.")


def _check_room(target: Target, room_bytes: int) -> None:
    if target.space is None:
        return
    wanted = 2 * room_bytes + int(LEFT_OVER * target.space.total_bytes)
    if target.space.free_bytes < wanted:
        raise Refused(
            f"{plain(target.path)} is too full: {size(target.space.free_bytes)} free, and {size(wanted)} wanted "
            f"(twice the {size(room_bytes)} of the run, and 5 % of {size(target.space.total_bytes)} left over). "
            "Free some room or choose a smaller scenario."
        )


def _with_limit(step: PlannedStep, target: Target) -> PlannedStep:
    if step.probe != "sync_writes" or step.settings["offsets"] != "same" or step.settings["writers"] > 1:
        return step
    turns = [limits.turn_ns(node.medium) for node in target.lowest if node.medium]
    known = [turn for turn in turns if turn]
    return msgspec.structs.replace(step, limit_ns=max(known)) if known else step


def _seconds(steps: tuple[PlannedStep, ...]) -> float | None:
    if any(not step.settings.get("seconds") for step in steps):
        return None
    measured = sum(float(step.settings["seconds"]) for step in steps if not step.skip)
    return IDLE_S + measured + len(steps) * (PAUSE_S + START_S) + preparing_s(steps)


def _open_ended_bytes_per_s(steps: tuple[PlannedStep, ...]) -> int | None:
    endless = [step.settings for step in steps if not step.settings.get("seconds")]
    if any(step.by_hand for step in steps):  # all of them at the same time
        return sum(int(asked["writers"] * asked["ops_per_s"] * asked["block_bytes"]) for asked in endless) or None
    return max((int(asked["ops_per_s"] * asked["block_bytes"]) for asked in endless), default=None)


def powercut_command(directory: str, settings: Mapping[str, str]) -> str:
    """The writer's command line, for the box whose power is to be cut."""
    words = ["fstui", "powercut", "write", directory]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    return shlex.join(words)


def _command(scenario: str, directory: str, settings: dict[str, str], options: Mapping[str, str | int | None]) -> str:
    words = ["fstui", "run", scenario, directory]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    for option, chosen in options.items():
        if chosen is not None:
            words += [option, str(chosen)]
    return shlex.join(words)
