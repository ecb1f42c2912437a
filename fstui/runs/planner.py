"""Plan what a run of a scenario will do in a directory, before anything is written."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from fstui.databases import existing, planning, programs
from fstui.databases.existing import PASSWORD_VARIABLE
from fstui.databases.programs import EVERYTHING, Installed
from fstui.judge.facts import rotation
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.plan import Plan, PlannedStep
from fstui.model.quantities import exact_size
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.storage import Target
from fstui.runs import scenarios
from fstui.runs.scenarios import Scenario
from fstui.runs.site import Site

IDLE_S = 1.0
PAUSE_S = 0.25
START_S = 0.5
"""Estimated time to start a probe and its trace, without the time to write its file."""
__all__ = ["EVERYTHING", "PASSWORD_VARIABLE"]


def wants_programs(scenario: Scenario, settings: Mapping[str, str]) -> bool:
    """Return whether any step runs a program that may not be installed. Raises Refused."""
    return planning.need_programs(scenarios.expand(scenario, settings)[1])


def plan(
    scenario: Scenario,
    settings: Mapping[str, str],
    site: Site,
    installed: Installed = EVERYTHING,
    *,
    called: str = "",
    rate_limit: RateLimit = UNLIMITED,
) -> Plan:
    """Return the plan. ``called``: the name or the file by which the user named the scenario. Raises Refused."""
    reference, expanded = scenarios.expand(scenario, settings)
    steps = planning.adapt(expanded, installed, chosen_by_user="server" in settings)
    if rate_limit.bytes_per_s:
        steps = _limited_to(steps, rate_limit.bytes_per_s)
    measured = [step.settings for step in steps if not step.skip]
    on_site = [settings for settings in measured if settings.existing_server is None]
    on_server = [settings for settings in measured if settings.existing_server]
    room_bytes = planning.room_bytes(on_site)
    site.check(room_bytes)
    return Plan(
        scenario=reference,
        question=scenario.question,
        help=scenario.help.strip(),
        steps=tuple(with_limit(step, site.target) for step in steps),
        seconds=_seconds(steps, rate_limit),
        max_bytes=sum(settings.amounts().written for settings in on_site),
        room_bytes=room_bytes,
        server=next((settings.existing_server for settings in on_server), None),
        server_bytes=sum(settings.amounts().written for settings in on_server),
        server_room_bytes=planning.room_bytes(on_server),
        bytes_per_s=max((step.settings.bytes_per_s for step in steps if not step.settings.seconds), default=None),
        rate_limit=rate_limit,
        command=_command(called or scenario.name, settings, site, rate_limit),
    )


def _limited_to(steps: tuple[PlannedStep, ...], bytes_per_s: int) -> tuple[PlannedStep, ...]:
    """Leave out the steps whose rate cannot be limited. Raises Refused if none is left."""
    limited = tuple(_one_limited_to(step, bytes_per_s) for step in steps)
    if all(step.skip for step in limited):
        raise Refused(f"--max-rate leaves nothing to run: {limited[0].skip}")
    return limited


def _one_limited_to(step: PlannedStep, bytes_per_s: int) -> PlannedStep:
    settings = step.settings.limited_to(bytes_per_s)
    if settings is not None:
        return msgspec.structs.replace(step, settings=settings)
    return msgspec.structs.replace(step, skip=step.skip or f"{step.settings.probe} cannot be limited by --max-rate")


def with_limit(step: PlannedStep, target: Target) -> PlannedStep:
    """Add the time of a revolution if the step rewrites one block of a rotating disk."""
    limit_ns = rotation.slowest_revolution_ns(target.lowest) if step.settings.rewrites_one_block else None
    return msgspec.structs.replace(step, limit_ns=limit_ns) if limit_ns else step


def _seconds(steps: tuple[PlannedStep, ...], rate_limit: RateLimit) -> float | None:
    if any(not step.settings.seconds for step in steps):
        return None
    measured = [step.settings for step in steps if not step.skip]
    filled_bytes = sum(settings.prefill_bytes for settings in measured)
    filling_s = filled_bytes / rate_limit.bytes_per_s if rate_limit.bytes_per_s else 0.0
    measured_s = sum(settings.seconds for settings in measured)
    return IDLE_S + measured_s + len(steps) * (PAUSE_S + START_S) + planning.preparation_s(steps) + filling_s


def _command(scenario: str, settings: Mapping[str, str], site: Site, rate_limit: RateLimit) -> str:
    simulated = site.surveyed.simulated
    words = ["fstui", "run", scenario, *(["--simulate", simulated] if simulated else [site.surveyed.path])]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    declared = site.declaration
    words += ["--medium", declared.medium] if declared.medium else []
    words += ["--write-cache", declared.write_cache] if declared.write_cache else []
    words += ["--like", str(site.like.pid)] if site.like else []
    words += ["--max-rate", exact_size(rate_limit.bytes_per_s)] if rate_limit.bytes_per_s else []
    words += ["--idle"] if rate_limit.idle else []
    return shlex.join(words)


async def with_server_answer(plan: Plan, site: Site) -> Plan:
    """Add what an existing database server reports about itself, or why it does not answer. Create nothing there."""
    steps = (step.settings for step in plan.steps if not step.skip and isinstance(step.settings, Sysbench))
    settings = next((settings for settings in steps if settings.existing_server), None)
    if settings is None:
        return plan
    try:
        server = await existing.server_facts(await programs.find_sysbench(), settings, workspace=site.directory.path)
    except Refused as trouble:
        return msgspec.structs.replace(plan, server_says=(f"the server does not answer: {trouble}",))
    return msgspec.structs.replace(plan, server_says=server.introduction)
