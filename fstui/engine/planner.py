"""A scenario and a place → what a run will do, before the first byte is written. Pure: nothing is asked or read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from fstui import scenario as scenarios
from fstui.databases import planning
from fstui.databases.programs import EVERYTHING, Installed
from fstui.engine.site import Site
from fstui.judge.facts import limits
from fstui.model.plan import Plan, PlannedStep
from fstui.model.storage import Target
from fstui.scenario import Scenario

IDLE_S = 1.0
PAUSE_S = 0.25
START_S = 0.15
"""About what a probe takes from its start to ``ready``, its file apart."""
__all__ = ["EVERYTHING", "IDLE_S", "PAUSE_S", "plan", "wants_programs"]


def wants_programs(scenario: Scenario, settings: Mapping[str, str]) -> bool:
    """Some of its steps run programs that may not be installed. Raises Refused."""
    return planning.wants_programs(scenarios.expand(scenario, settings)[1])


def plan(
    scenario: Scenario,
    settings: Mapping[str, str],
    site: Site,
    installed: Installed = EVERYTHING,
    *,
    called: str = "",
) -> Plan:
    """``called`` is the file of a scenario that has no name here. Raises Refused with a sentence for the user."""
    reference, expanded = scenarios.expand(scenario, settings)
    steps = planning.arranged(expanded, installed, chosen_by_user="server" in settings)
    done = [step.settings for step in steps if not step.skip]
    here = [settings for settings in done if settings.existing_server is None]
    there = [settings for settings in done if settings.existing_server]
    room_bytes = planning.room_bytes(here)
    site.check(room_bytes)
    return Plan(
        scenario=reference,
        question=scenario.question,
        help=scenario.help.strip(),
        steps=tuple(_with_limit(step, site.target) for step in steps),
        seconds=_seconds(steps),
        max_bytes=sum(settings.amounts().written for settings in here),
        room_bytes=room_bytes,
        server=next((settings.existing_server for settings in done if settings.existing_server), None),
        server_bytes=sum(settings.amounts().written for settings in there),
        server_room_bytes=planning.room_bytes(there),
        bytes_per_s=_open_ended_bytes_per_s(steps),
        command=_command(called or scenario.name, settings, site),
    )


def _with_limit(step: PlannedStep, target: Target) -> PlannedStep:
    if not step.settings.rewrites_one_block:
        return step
    turns = [limits.turn_ns(node.medium) for node in target.lowest if node.medium]
    known = [turn for turn in turns if turn]
    return msgspec.structs.replace(step, limit_ns=max(known)) if known else step


def _seconds(steps: tuple[PlannedStep, ...]) -> float | None:
    if any(not step.settings.seconds for step in steps):
        return None
    measured = sum(step.settings.seconds for step in steps if not step.skip)
    return IDLE_S + measured + len(steps) * (PAUSE_S + START_S) + planning.preparing_s(steps)


def _open_ended_bytes_per_s(steps: tuple[PlannedStep, ...]) -> int | None:
    return max((step.settings.bytes_per_s for step in steps if not step.settings.seconds), default=None)


def _command(scenario: str, settings: Mapping[str, str], site: Site) -> str:
    words = ["fstui", "run", scenario, site.read.path]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    said = site.declaration
    words += ["--medium", said.medium] if said.medium else []
    words += ["--write-cache", said.write_cache] if said.write_cache else []
    words += ["--like", str(site.like.pid)] if site.like else []
    return shlex.join(words)
