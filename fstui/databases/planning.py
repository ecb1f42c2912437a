"""Adapt a scenario's database steps to the servers that are installed, or to an existing server."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fstui.databases import programs
from fstui.databases.programs import Programs
from fstui.measure.kinds.replica_cut import ReplicaCut
from fstui.measure.kinds.sysbench import Sysbench
from fstui.measure.kinds.sysbench_fileio import SysbenchFileio
from fstui.model.errors import Refused
from fstui.model.plan import PlannedStep
from fstui.model.settings import Settings

NEEDS_ROOT = "needs root: it mounts a filesystem of its own and simulates a power cut on it"
_SERVER_START_S = 2.0
_ROWS_PER_S = 60_000
"""Estimates of the time to start a server, and of the rows that it inserts per second."""


def adapt(steps: tuple[PlannedStep, ...], installed: Programs, *, chosen_by_user: bool) -> tuple[PlannedStep, ...]:
    """Return the steps for this host. Each server that is not installed gets one skipped step.

    Without sysbench, steps of sysbench fileio are skipped. For other database steps, raises Refused if sysbench is
    missing, if all servers are missing, or if one that the user chose is missing.
    """
    if any(isinstance(step.settings, SysbenchFileio) for step in steps):
        if installed.sysbench:
            return steps
        why = installed.oltp_refusal or programs.NO_SYSBENCH  # the scenario's other steps do not need sysbench
        return tuple(replace(step, skip=why) if isinstance(step.settings, SysbenchFileio) else step for step in steps)
    server_settings = [step.settings for step in steps if isinstance(step.settings, Sysbench | ReplicaCut)]
    if not server_settings:
        return steps
    if installed.oltp_refusal:
        raise Refused(installed.oltp_refusal)
    kinds = tuple(dict.fromkeys(settings.server for settings in server_settings))
    if any(settings.existing_server for settings in server_settings):
        return tuple(_skip(_on_existing(steps, kinds), (), as_root=installed.as_root))
    missing = [kind for kind in kinds if kind not in installed.servers]
    if missing and (chosen_by_user or len(missing) == len(kinds)):
        raise Refused(f"no database server to run: {'; '.join(map(programs.why_missing, missing))}")
    return tuple(_skip(steps, missing, as_root=installed.as_root))


def preparation_s(steps: tuple[PlannedStep, ...]) -> float:
    """Estimate the time to start the servers, fill the tables and warm up."""
    seconds, previous = 0.0, None
    for settings in (step.settings for step in steps if not step.skip):
        if isinstance(settings, ReplicaCut):
            seconds += settings.pair.prepare_s
        elif isinstance(settings, Sysbench):
            seconds += settings.warmup_s
            start = settings.server_key, settings.start_options
            if previous is None or (previous.server_key, previous.start_options) != start:
                seconds += _SERVER_START_S
            if not _shares_data(previous, settings):
                seconds += settings.schemas * settings.tables * settings.rows / _ROWS_PER_S
            previous = settings
    return seconds


def peak_bytes(steps: Iterable[Settings]) -> int:
    """Return the largest number of bytes that the steps occupy at any time."""
    largest, previous = 0, None
    added_bytes = 0  # the size of the rows that earlier steps added to tables that still exist
    for settings in steps:
        amounts = settings.amounts()
        if isinstance(settings, Sysbench):
            if not _shares_data(previous, settings):
                added_bytes = 0
            previous = settings
        largest = max(largest, added_bytes + amounts.peak)
        added_bytes += amounts.retained
    return largest


def _shares_data(previous: Sysbench | None, settings: Sysbench) -> bool:
    if previous is None:
        return False
    return (previous.server_key, previous.table_counts) == (settings.server_key, settings.table_counts)


def _skip(steps: tuple[PlannedStep, ...], missing: Sequence[str], *, as_root: bool) -> list[PlannedStep]:
    """Replace the steps of each missing server with one skipped step. Without root, skip steps with replicas."""
    result: dict[str, PlannedStep] = {}
    for step in steps:
        settings = step.settings
        if isinstance(settings, Sysbench | ReplicaCut) and (kind := settings.server) in missing:
            result.setdefault(kind, replace(step, name=kind, skip=programs.why_missing(kind)))
        elif isinstance(settings, ReplicaCut) and not as_root:
            result[step.name] = replace(step, skip=NEEDS_ROOT)
        else:
            result[step.name] = step
    return list(result.values())


def _on_existing(steps: tuple[PlannedStep, ...], kinds: tuple[str, ...]) -> tuple[PlannedStep, ...]:
    """Merge steps that differ only in server options, because fstui does not change an existing server's options."""
    if len(kinds) > 1:
        raise Refused(f"Name the kind of the existing server with --set server=KIND: {', '.join(kinds)}")
    merged: dict[str, PlannedStep] = {}
    for step in steps:
        if isinstance(step.settings, Sysbench):
            settings = replace(step.settings, options={})
            name = settings.workload + (f" threads {settings.threads}" if settings.threads > 1 else "")
            merged.setdefault(name, replace(step, name=name, settings=settings))
        else:
            merged[step.name] = step
    return tuple(merged.values())
