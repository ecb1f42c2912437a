"""Plan what a run of a scenario will do in a directory, before anything is written."""

import shlex
from collections.abc import Mapping

import msgspec

from fstui.databases import planning, programs
from fstui.databases.connections import PASSWORD_VARIABLE
from fstui.databases.programs import ALL_PROGRAMS, Programs
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

IDLE_DURATION_S = 1.0
PAUSE_DURATION_S = 0.25
START_DURATION_S = 0.5
"""Estimated time to start a probe and its trace, without the time to write the probe's file."""
__all__ = ["ALL_PROGRAMS", "PASSWORD_VARIABLE"]  # re-exported for the interfaces


def plan(
    scenario: Scenario,
    settings: Mapping[str, str],
    site: Site,
    installed: Programs = ALL_PROGRAMS,
    *,
    typed_name: str = "",
    rate_limit: RateLimit = UNLIMITED,
) -> Plan:
    """Return the plan. ``typed_name``: the scenario as the user typed it, a name or a file. Raises Refused."""
    reference, all_steps = scenarios.expand(scenario, settings)
    steps = planning.adapt(all_steps, installed, chosen_by_user="server" in settings)
    if rate_limit.bytes_per_s:
        steps = _limit_steps(steps, rate_limit.bytes_per_s)
    measured_settings = [step.settings for step in steps if not step.skip]
    site_settings = [settings for settings in measured_settings if settings.existing_server is None]
    server_settings = [settings for settings in measured_settings if settings.existing_server]
    peak_bytes = planning.peak_bytes(site_settings)
    site.check(peak_bytes)
    return Plan(
        scenario=reference,
        question=scenario.question,
        help=scenario.help.strip(),
        steps=tuple(with_revolution(step, site.target) for step in steps),
        seconds=_estimate_s(steps, rate_limit),
        max_bytes=sum(settings.amounts().written for settings in site_settings),
        peak_bytes=peak_bytes,
        server=next((settings.existing_server for settings in server_settings), None),
        server_bytes=sum(settings.amounts().written for settings in server_settings),
        server_peak_bytes=planning.peak_bytes(server_settings),
        bytes_per_s=max((step.settings.bytes_per_s for step in steps if not step.settings.seconds), default=None),
        rate_limit=rate_limit,
        command=_command(typed_name or scenario.name, settings, site, rate_limit),
    )


def _limit_steps(steps: tuple[PlannedStep, ...], bytes_per_s: int) -> tuple[PlannedStep, ...]:
    """Limit the rate of each step, and skip steps without a rate limit. Raises Refused if all steps are skipped."""
    limited_steps = tuple(_limit_step(step, bytes_per_s) for step in steps)
    if all(step.skip for step in limited_steps):
        raise Refused(f"--max-rate leaves nothing to run: {limited_steps[0].skip}")
    return limited_steps


def _limit_step(step: PlannedStep, bytes_per_s: int) -> PlannedStep:
    settings = step.settings.with_rate_limit(bytes_per_s)
    if settings is not None:
        return msgspec.structs.replace(step, settings=settings)
    return msgspec.structs.replace(step, skip=step.skip or f"{step.settings.probe} cannot be limited by --max-rate")


def with_revolution(step: PlannedStep, target: Target) -> PlannedStep:
    """Add the time of one revolution to a step that rewrites one block of a rotating disk."""
    limit_ns = rotation.slowest_revolution_ns(target.lowest) if step.settings.rewrites_one_block else None
    return msgspec.structs.replace(step, limit_ns=limit_ns) if limit_ns else step


def _estimate_s(steps: tuple[PlannedStep, ...], rate_limit: RateLimit) -> float | None:
    if any(not step.settings.seconds for step in steps):
        return None
    measured_settings = [step.settings for step in steps if not step.skip]
    filled_bytes = sum(settings.prefill_bytes for settings in measured_settings)
    filling_s = filled_bytes / rate_limit.bytes_per_s if rate_limit.bytes_per_s else 0.0
    measured_s = sum(settings.seconds for settings in measured_settings)
    starts_s = len(steps) * (PAUSE_DURATION_S + START_DURATION_S)
    return IDLE_DURATION_S + starts_s + measured_s + filling_s + planning.preparation_s(steps)


def _command(scenario: str, settings: Mapping[str, str], site: Site, rate_limit: RateLimit) -> str:
    simulated = site.raw_target.simulated
    argv = ["fstui", "run", scenario, *(["--simulate", simulated] if simulated else [site.raw_target.path])]
    for key, value in settings.items():
        argv += ["--set", f"{key}={value}"]
    declaration = site.declaration
    argv += ["--medium", declaration.medium] if declaration.medium else []
    argv += ["--write-cache", declaration.write_cache] if declaration.write_cache else []
    argv += ["--like", str(site.cgroup_process.pid)] if site.cgroup_process else []
    argv += ["--max-rate", exact_size(rate_limit.bytes_per_s)] if rate_limit.bytes_per_s else []
    argv += ["--idle"] if rate_limit.idle else []
    return shlex.join(argv)


async def with_server_facts(plan: Plan, site: Site) -> Plan:
    """Add what an existing database server reports about itself, or why it does not answer. Create nothing on it."""
    candidates = (step.settings for step in plan.steps if not step.skip and isinstance(step.settings, Sysbench))
    settings = next((settings for settings in candidates if settings.existing_server), None)
    if settings is None:
        return plan
    from fstui.databases import existing  # noqa: PLC0415  few runs use a server

    try:
        server = await existing.server_facts(await programs.find_sysbench(), settings, workspace=site.directory.path)
    except Refused as refusal:
        return msgspec.structs.replace(plan, server_says=(f"the server does not answer: {refusal}",))
    return msgspec.structs.replace(plan, server_says=server.introduction)
