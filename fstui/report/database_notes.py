"""Sentences about the servers of a run: how they are configured, and what limited them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.measure.kinds.servers import Server
from fstui.model.quantities import percent
from fstui.model.run import Run
from fstui.report import database_files
from fstui.report.databases import AT_MOST, DatabaseStep, measured
from fstui.report.figures import Counts


def notes(run: Run) -> tuple[str, ...]:
    databases = measured(run)
    if not databases:
        return ()
    servers = {each.server.title: each.server for each in databases if each.figures.server}
    return (
        *_about_servers(servers),
        *_about_flushes(run, databases),
        *_about_processors(databases),
        *database_files.notes(run),
    )


def _about_servers(servers: dict[str, Server]) -> Iterator[str]:
    for title, server in servers.items():
        if server.binary_log_turned_on:
            yield (
                f"{title}: fstui enabled its binary log, as replication does. MariaDB ships with it disabled, and "
                "sync_binlog then changes nothing."
            )
    for title, server in servers.items():
        if server.existing and server.commit_settings:
            yield f"{title}, {server.reached}: {', '.join(server.commit_settings)}; read, not changed."
    for title, server in servers.items():
        if server.logs_for_replicas:
            yield f"{title}: its binary log is enabled. The log and every replica received everything written here."
    for title, server in servers.items():
        if not server.on_target:
            yield f"{title}: {_elsewhere(server)}"


def _elsewhere(server: Server) -> str:
    if not server.located:
        return (
            "its process was not found on this host, so it is not known whether its data is on the measured "
            "filesystem. The device counters are not attributed to it."
        )
    data = f"its data, in {server.data_directory}," if server.data_directory else "its data"
    return f"{data} is not on the measured filesystem. The device counters are not attributed to it."


def _about_flushes(run: Run, databases: Sequence[DatabaseStep]) -> Iterator[str]:
    counts = Counts(run)
    if any(each.server.on_target and counts.shared_with_others(each.step) for each in databases):
        yield f"{AT_MOST}before flushes/trx: the count contains flushes of other processes."


def _about_processors(databases: Sequence[DatabaseStep]) -> Iterator[str]:
    """Name each step once: limited by its own processor time, or crowded by other processes."""
    limited = [each for each in databases if each.figures.limited_by_processor and not each.figures.crowded]
    if limited:
        shares = ", ".join(f"{each.step.name} ({_percent(each.figures.cpu_share)})" for each in limited)
        yield f"The processor, not the storage, limited {shares}."
    crowded = [each for each in databases if each.figures.crowded]
    if crowded:
        shares = ", ".join(
            f"{each.step.name} (others {_percent(each.figures.others_cpu_share)}, server and clients "
            f"{_percent((each.figures.host_cpu_share or 0) - (each.figures.others_cpu_share or 0))})"
            for each in crowded
        )
        limit = "limited" if all(each.figures.limited_by_processor for each in crowded) else "may have limited"
        yield f"Other processes kept the processors busy, which {limit} {shares}."
    if any(each.settings.own_session and each.figures.autogroup for each in crowded):
        yield (
            "This kernel divides processor time between sessions (sched_autogroup_enabled = 1), and server and clients "
            "have sessions of their own. Started from one shell, they would reach another rate: --set session=shared "
            "runs them in fstui's session."
        )


def _percent(share: float | None) -> str:
    return percent(share or 0)
