"""Explain the rates of databases: the syncs of a transaction, the settings of servers, and the load of the CPU."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fstui.measure.kinds.servers import Server
from fstui.measure.kinds.sysbench import FileIO, SysbenchFigures
from fstui.model.quantities import duration_ns, percent, ratio, short_size
from fstui.model.run import Run
from fstui.model.steps import Step
from fstui.report import figures
from fstui.report.databases import AT_MOST, DatabaseStep, database_steps, flushes
from fstui.report.sections import Section
from fstui.report.text import NONE

_HEADER = ("each transaction", "writes", "bytes", "syncs", "mean time")


def table(run: Run) -> Section:
    steps = _steps_with_writes(run)
    counts = figures.Counts(run)
    rows = tuple(row for number, database in enumerate(steps, 1) for row in _rows(f"#{number}", database, counts))
    words = ((database.step.name, *database.effective_options) for database in steps)
    legend = tuple(f"#{number} {' · '.join(step_words)}" for number, step_words in enumerate(words, 1))
    return Section("Where the syncs of a transaction go", _HEADER, rows, legend, labelled=True)


def _about_syncs(run: Run) -> Iterator[str]:
    steps = _steps_with_writes(run)
    if any(_all_syncs(_file_io(database.figures)) is None for database in steps):
        yield (
            "–: the server did not count these syncs. MariaDB counts those of all files only with performance_schema = "
            "ON, and PostgreSQL those of its data only since version 16."
        )
    elif steps:
        yield (
            "The server counted the syncs, and the kernel counted the flushes at the devices. The sync of a file "
            "that grows also commits the filesystem's journal. More flushes than syncs are therefore normal."
        )
    if any(database.server.dsync_files for database in steps):
        yield "Each write to a log that is opened with O_DSYNC is a sync. The table counts it as one."
    in_data_file = (database for database in steps if database.server.doublewrite_in_data_file)
    files = {io.file for database in in_data_file for io in _file_io(database.figures) if io.writes or io.syncs}
    if "doublewrite" in files:
        yield "MariaDB's doublewrite buffer is in ibdata1. The row doublewrite also counts other pages of that file."


def csv_cells(step: Step) -> Iterator[tuple[str, int | None]]:
    counts = _file_io(step.figures) if isinstance(step.figures, SysbenchFigures) else ()
    by_file = {io.file: io for io in counts}
    for file in ("redo log", "binary log", "doublewrite", "WAL", "data"):
        name = file.lower().replace(" ", "_")
        yield f"{name}_writes", by_file[file].writes if file in by_file else None
        yield f"{name}_syncs", by_file[file].syncs if file in by_file else None


def _steps_with_writes(run: Run) -> list[DatabaseStep]:
    finished = (database for database in database_steps(run) if database.step.ops)
    return [database for database in finished if any(io.writes for io in database.figures.waits)]


def _file_io(figures: SysbenchFigures) -> tuple[FileIO, ...]:
    """Return the server's counts, with each write to a file that is opened with O_DSYNC also counted as a sync."""
    dsync_files = figures.server.dsync_files if figures.server else frozenset()
    return tuple(_with_writes_as_syncs(io) if io.file in dsync_files else io for io in figures.waits)


def _with_writes_as_syncs(io: FileIO) -> FileIO:
    if io.writes is None:
        return io
    sync_ns = None if io.write_ns is None else io.write_ns + (io.sync_ns or 0)
    return replace(io, syncs=io.writes + (io.syncs or 0), sync_ns=sync_ns)


def _rows(number: str, database: DatabaseStep, counts: figures.Counts) -> Iterator[tuple[str, ...]]:
    ops = database.step.ops
    file_counts = _file_io(database.figures)
    for io in file_counts:
        if io.writes or io.syncs:
            mean_sync = duration_ns(io.sync_ns / io.syncs) if io.sync_ns and io.syncs else NONE
            size = NONE if io.bytes is None else short_size(round(io.bytes / ops))
            per_transaction = (_per_transaction(io.writes, ops), size, _per_transaction(io.syncs, ops))
            yield f"{number} {io.file}", *per_transaction, mean_sync
    yield f"{number} all syncs", "", "", _per_transaction(_all_syncs(file_counts), ops), ""
    device_bytes = counts.written_bytes(database.step) if database.server.on_target else None
    size = NONE if device_bytes is None else short_size(round(device_bytes / ops))
    yield f"{number} device flushes", "", size, flushes(counts, database), ""


def _all_syncs(file_counts: Sequence[FileIO]) -> int | None:
    """Return the number of syncs, or None if the server did not count the syncs of a file that it may have written."""
    if any(io.syncs is None and io.writes != 0 for io in file_counts):
        return None
    return sum(io.syncs or 0 for io in file_counts)


def _per_transaction(number: int | None, ops: int) -> str:
    return NONE if number is None else ratio(number / ops)


def notes(run: Run) -> tuple[str, ...]:
    databases = database_steps(run)
    if not databases:
        return ()
    servers = {database.server.title: database.server for database in databases if database.figures.server}
    about_run = (*_about_flushes(run, databases), *_about_processors(databases), *_about_syncs(run))
    return (*_about_servers(servers), *about_run)


def _about_servers(servers: dict[str, Server]) -> Iterator[str]:
    for title, server in servers.items():
        if server.binary_log_turned_on:
            yield (
                f"{title}: fstui enabled its binary log, which replication needs. MariaDB ships with it disabled, and "
                "without it, sync_binlog has no effect."
            )
    for title, server in servers.items():
        if server.existing and server.commit_settings:
            yield f"{title}, {server.reached}: {', '.join(server.commit_settings)}; read, not changed."
    for title, server in servers.items():
        if server.logs_for_replicas:
            yield f"{title}: its binary log is enabled. The log and every replica received everything written here."
    for title, server in servers.items():
        if not server.on_target:
            yield f"{title}: {_why_not_attributed(server)}"


def _why_not_attributed(server: Server) -> str:
    if not server.located:
        return (
            "its process was not found on this host, so it is not known whether its data is on the measured "
            "filesystem. The device counters are not attributed to it."
        )
    data = f"its data, in {server.data_directory}," if server.data_directory else "its data"
    return f"{data} is not on the measured filesystem. The device counters are not attributed to it."


def _about_flushes(run: Run, databases: Sequence[DatabaseStep]) -> Iterator[str]:
    counts = figures.Counts(run)
    if any(AT_MOST in flushes(counts, database) for database in databases):
        yield f"“{AT_MOST.strip()}” in the column flushes/tx: the count may include flushes of other processes."


def _about_processors(databases: Sequence[DatabaseStep]) -> Iterator[str]:
    """Yield sentences about the steps that the processors limited, and about the sessions of the processes."""
    not_crowded = (database for database in databases if not database.figures.others_load_processor)
    limited = [database for database in not_crowded if database.figures.limited_by_processor]
    if limited:
        shares = ", ".join(f"{database.step.name} ({percent(database.figures.cpu_share or 0)})" for database in limited)
        yield f"The processor, not the storage, limited {shares}."
    crowded = [database for database in databases if database.figures.others_load_processor]
    if crowded:
        shares = ", ".join(
            f"{database.step.name} (others {percent(database.figures.others_cpu_share or 0)}, server and clients "
            f"{percent((database.figures.host_cpu_share or 0) - (database.figures.others_cpu_share or 0))})"
            for database in crowded
        )
        limit = "limited" if all(database.figures.limited_by_processor for database in crowded) else "may have limited"
        yield f"Other processes kept the processors busy, which {limit} {shares}."
    if any(database.settings.own_session and database.figures.autogroup for database in crowded):
        yield (
            "This kernel divides processor time between sessions (sched_autogroup_enabled = 1), and server and clients "
            "have sessions of their own. Started from one shell, they would reach a different rate: "
            "--set session=shared runs them in fstui's session."
        )
