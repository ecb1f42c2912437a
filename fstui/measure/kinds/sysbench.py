"""Transactions of sysbench's OLTP scripts on a database server."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from math import prod
from typing import Literal

import msgspec

from fstui.measure.kinds import MAX_BYTES, MAX_SECONDS, StepFigures
from fstui.measure.kinds.servers import KINDS, Server, ServerKind, ServerName, ServerSettings
from fstui.model.base import Amount, Base, Count, Share
from fstui.model.quantities import count, counted, duration_ns
from fstui.model.settings import Amounts, CommitSettings, Figures, Pause
from fstui.model.steps import Latency, TimelinePoint

MAX_THREADS = 1024
PROCESSOR_BOUND_SHARE = 0.85
"""A step is limited by the processor if it uses at least this share of the processor time that its clients can use."""
BUSY_HOST_SHARE = 0.9
"""If at least this share of the host's processor time is used, processes wait for a processor."""
HOST_BOUND_SHARE, MIN_STEP_SHARE = 0.95, 0.3
"""A step is also limited by the processor if all processes together use at least HOST_BOUND_SHARE of the host's
processor time. The step itself must use at least MIN_STEP_SHARE of the time that its clients can use."""
MIN_MISSED_TRANSACTIONS = 10
"""A period without transactions is a pause if this many transactions usually complete in such a time."""
_READ_ONLY_WORKLOADS = frozenset({"oltp_read_only", "oltp_point_select"})
_ROW_BYTES = 200
_STORED_ROW_BYTES = 240
_SERVER_BYTES = 256 << 20
"""Space for an empty server: system tables, redo logs, temporary tablespaces. It is 170 MiB for MariaDB, 220 MiB for
MySQL 9 and 40 MiB for PostgreSQL."""
_LOG_BYTES_PER_S = 32 << 20
"""Growth of the binary log or WAL at 30 000 small transactions per second, if the server does not wait for its disk."""
_MAX_NEW_ROWS_PER_S, _MAX_NEW_ROWS_PER_CLIENT = 30_000, 12_000
"""Maximum number of rows added per second, by all clients together and by one client."""
_INSERTING_WORKLOADS = frozenset({"oltp_insert"})
_OPTION_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Sysbench(ServerSettings, frozen=True, kw_only=True, tag="sysbench"):
    """The script, its tables and clients, and the server."""

    seconds: float = 10.0
    warmup_s: float = 0.0
    """How long the same transactions run before the measurement starts."""
    workload: Literal[
        "oltp_read_write", "oltp_update_index", "oltp_read_only", "oltp_insert", "oltp_write_only",
        "oltp_update_non_index", "oltp_point_select", "oltp_delete",
    ] = "oltp_read_write"  # fmt: skip
    threads: int = 1
    tables: int = 1
    rows: int = 10_000
    """Per table."""
    schemas: int = 1
    """Number of schemas. Each has ``tables`` tables, and each client works in one schema."""
    server: ServerName
    pool_bytes: int = 67108864
    """The server's buffer pool: innodb_buffer_pool_size, shared_buffers."""
    options: dict[str, bool | int | float | str] = {}
    host: str = ""
    """If host, port, socket or login_path is set, the step uses an existing server, and only reads its options."""
    port: int = 0
    socket: str = ""
    user: str = ""
    login_path: str = ""
    """A login path, a group of ~/.my.cnf, or a service of PostgreSQL. It contains host, port, socket and user."""
    session: Literal["own", "shared"] = "own"
    """Whether server and clients have their own sessions or share the session of fstui. The kernel first divides CPU
    time among sessions (sched(7), autogroup)."""

    @property
    def kind(self) -> ServerKind:
        return KINDS[self.server]

    @property
    def writers(self) -> int:
        return self.threads

    @property
    def server_options(self) -> tuple[str, ...]:
        if self.existing_server:
            return ()
        return tuple(f"{name} = {value}" for name, value in self.options.items())

    @property
    def tables_in_words(self) -> str:
        """``2 schemas of 1 table of 10 000 rows``."""
        schemas = f"{counted(self.schemas, 'schema')} of " if self.schemas > 1 else ""
        return f"{schemas}{counted(self.tables, 'table')} of {count(self.rows)} rows"

    @property
    def existing_server(self) -> str | None:
        """``mariadb at db7:3306, as app``."""
        if not (self.host or self.port or self.socket or self.login_path):
            return None
        fallback = f"{self.kind.login_term} {self.login_path}" if self.login_path else "127.0.0.1"
        where = f"socket {self.socket}" if self.socket else self.host or fallback
        port = f":{self.port}" if self.port else ""
        return f"{self.server} at {where}{port}{f', as {self.user}' if self.user else ''}"

    @property
    def server_key(self) -> tuple[str | int, ...]:
        """Steps with the same key share a server, which restarts if their ``start_options`` differ."""
        return self.server, self.host, self.port, self.socket, self.user, self.login_path, self.session

    @property
    def start_options(self) -> tuple[object, ...]:
        """Options that a throwaway server accepts only at its start."""
        return self.pool_bytes, self.options

    @property
    def table_counts(self) -> tuple[int, int, int]:
        """Schemas, tables per schema, and rows per table. Steps with the same numbers can use the same tables."""
        return self.schemas, self.tables, self.rows

    @property
    def own_session(self) -> bool:
        return self.session == "own"

    @property
    def read_only(self) -> bool:
        """Whether no transaction changes data, so that no commit needs to be durable."""
        return self.workload in _READ_ONLY_WORKLOADS

    def amounts(self) -> Amounts:
        """Return estimates, because the server decides what it writes."""
        data_bytes = self.schemas * self.tables * self.rows * _STORED_ROW_BYTES
        running_s = self.seconds + self.warmup_s
        log_bytes = int(running_s * _LOG_BYTES_PER_S)
        stored_log_bytes = log_bytes if self.existing_server else min(log_bytes, self.kind.max_log_bytes)
        grows = self.workload in _INSERTING_WORKLOADS or (self.kind.keeps_old_rows and not self.read_only)
        new_rows_per_s = min(_MAX_NEW_ROWS_PER_S, self.threads * _MAX_NEW_ROWS_PER_CLIENT) if grows else 0
        new_row_bytes = int(running_s * new_rows_per_s) * _STORED_ROW_BYTES
        used_bytes = _SERVER_BYTES + data_bytes * 3 // 2 + stored_log_bytes + new_row_bytes
        return Amounts(_SERVER_BYTES + 2 * data_bytes + 3 * log_bytes, used_bytes, new_row_bytes)

    def syncs(self, ops: int, timed_syncs: int, figures: Figures) -> int:
        return ops if self.commit_settings(figures).durable else 0

    def commit_settings(self, figures: Figures) -> CommitSettings:
        server = figures.server if isinstance(figures, SysbenchFigures) else None
        if server is None:
            return CommitSettings(database="the server", counted=not self.read_only)
        is_counted = server.on_target and not self.read_only
        return CommitSettings(
            database=server.title,
            settings=server.durability,
            lossy=server.lossy,
            durable=is_counted and not server.lossy,
            counted=is_counted,
            existing=server.existing,
            located=server.located,
            log_flags=server.log_flags,
            preloads=server.preloads,
        )

    def mistakes(self) -> Iterator[str]:
        if not 1 <= self.seconds <= MAX_SECONDS:  # sysbench reports whole seconds
            yield f"seconds must be between 1 and {MAX_SECONDS}, not {self.seconds}"
        if not 1 <= self.threads <= MAX_THREADS:
            yield f"threads must be between 1 and {MAX_THREADS}, not {self.threads}"
        if min(self.table_counts) < 1 or prod(self.table_counts) * _ROW_BYTES > MAX_BYTES:
            yield f"schemas, tables and rows must be at least 1, together at most {MAX_BYTES // _ROW_BYTES} rows"
        if self.schemas > 1 and self.existing_server is not None and not self.kind.schemas_in_database:
            yield "schemas: a MySQL schema is a database, and fstui uses only one of an existing server: set schemas=1"
        if not 0 <= self.warmup_s <= MAX_SECONDS:
            yield f"warmup_s must be between 0 and {MAX_SECONDS}, not {self.warmup_s}"
        if not 8 << 20 <= self.pool_bytes <= MAX_BYTES:
            yield f"pool_bytes must be between 8 MiB and {MAX_BYTES}, not {self.pool_bytes}"
        for name in self.options:
            if not _OPTION_NAME.fullmatch(name):
                yield f"options: {name!r} is not a valid option name"


class Queries(Base, frozen=True, kw_only=True):
    """The number of queries of each type in sysbench's report."""

    read: Count = 0
    write: Count = 0
    other: Count = 0
    total: Count = 0


class ReportedLatency(Base, frozen=True, kw_only=True):
    """The latencies in sysbench's report, in ms. None: sysbench did not print this one."""

    min: Amount | None = None
    avg: Amount | None = None
    max: Amount | None = None
    p95: Amount | None = None

    def in_ns(self) -> tuple[int, int, int, int] | None:
        """Return minimum, average, maximum and p95; None if sysbench did not print all of them."""
        if self.min is None or self.avg is None or self.max is None or self.p95 is None:
            return None
        return round(self.min * 1e6), round(self.avg * 1e6), round(self.max * 1e6), round(self.p95 * 1e6)


class Interval(Base, frozen=True, kw_only=True):
    """One line of ``--report-interval=1``."""

    t_s: Amount
    """End of the interval, in seconds since the start."""
    tps: Amount
    qps: Amount
    p95_ms: Amount
    errors_per_s: Amount = 0.0
    length_s: Amount = 1.0


class FileIO(Base, frozen=True, kw_only=True):
    """The server's counters for one kind of its files. None: the server has no such counter."""

    file: str
    """``redo log``, ``binary log``, ``doublewrite``, ``data``; ``WAL``."""
    writes: Count | None = None
    bytes: Count | None = None
    syncs: Count | None = None
    write_ns: Count | None = None
    sync_ns: Count | None = None


class SysbenchFigures(StepFigures, frozen=True, kw_only=True, tag="sysbench"):
    """The figures that sysbench printed, and the server."""

    server: Server | None = None
    intervals: tuple[Interval, ...] = ()
    transactions: Count = 0
    tps: Amount | None = None
    """None until sysbench prints its report at the end."""
    qps: Amount | None = None
    queries: Queries | None = None
    latency_ms: ReportedLatency | None = None
    ignored_errors: Count | None = None
    reconnects: Count | None = None
    waits: tuple[FileIO, ...] = ()
    """Empty if the server does not report waits."""
    cpu_s: Amount | None = None
    cpu_share: Share | None = None
    """Processor time of server and clients, as a share of the processor time that these clients can use."""
    host_cpu_share: Share | None = msgspec.field(default=None, name="box_cpu_share")
    """Processor time of all processes, as a share of the host's processor time."""
    others_cpu_share: Share | None = None
    """The part of ``host_cpu_share`` that processes other than server and clients use."""
    autogroup: bool | None = None
    """Whether the kernel first divides CPU time among sessions (sched(7), autogroup). If it does, busy sessions leave
    less CPU time to the programs of other sessions."""

    @property
    def ops(self) -> int:
        return self.transactions

    @property
    def newest_report(self) -> tuple[float, str] | None:
        """Transactions per second of the last interval, and ``p95 2.4 ms, 1 260 qps``."""
        if not self.intervals:
            return None
        last = self.intervals[-1]
        failed = f", {count(last.errors_per_s)} errors" if last.errors_per_s else ""
        return last.tps, f"p95 {duration_ns(last.p95_ms * 1e6)}{failed}, {count(last.qps)} qps"

    @property
    def limited_by_processor(self) -> bool:
        """Whether clients and server were slowed down by the processor rather than by the storage."""
        step_share, host_share = self.cpu_share or 0.0, self.host_cpu_share or 0.0
        return step_share >= PROCESSOR_BOUND_SHARE or (host_share >= HOST_BOUND_SHARE and step_share >= MIN_STEP_SHARE)

    @property
    def others_load_processor(self) -> bool:
        """Whether other processes kept the host's processors busy."""
        return (self.host_cpu_share or 0.0) >= BUSY_HOST_SHARE and (self.others_cpu_share or 0.0) >= MIN_STEP_SHARE

    def timeline(self) -> tuple[TimelinePoint, ...]:
        """Return the intervals. Their p50 is sysbench's p95, because during the run sysbench prints no p50."""
        return tuple(
            TimelinePoint(
                t_s=interval.t_s - interval.length_s,
                ops=round(interval.tps * interval.length_s),
                p50_ns=round(interval.p95_ms * 1e6),
            )
            for interval in self.intervals
        )

    def pauses(self) -> tuple[Pause, ...]:
        """Return the periods without transactions that are too long for a disk that is only slow."""
        busy_s = sum(interval.length_s for interval in self.intervals if interval.tps > 0)
        min_s = MIN_MISSED_TRANSACTIONS * busy_s / max(self.transactions, 1)
        groups = [list(group) for _, group in groupby(self.intervals, lambda interval: interval.tps > 0)]
        gaps = [
            Pause(group[0].t_s - group[0].length_s, group[-1].t_s, is_ongoing=group[-1] is self.intervals[-1])
            for group in groups
            if group[0].tps <= 0
        ]
        return tuple(gap for gap in gaps if gap.end_s - gap.start_s >= min_s)

    def latency(self, histogram: Sequence[tuple[int, int]]) -> Latency | None:
        """Return sysbench's minimum, mean, maximum and p95, and the other percentiles from its histogram."""
        total = sum(count for _, count in histogram)
        reported = self.latency_ms.in_ns() if self.latency_ms else None
        if reported is None or not total:
            return None
        low, mean, high, p95 = reported
        return Latency(
            min=low,
            mean=mean,
            max=high,
            p95=p95,
            p50=_percentile(histogram, 0.5 * total),
            p90=_percentile(histogram, 0.9 * total),
            p99=_percentile(histogram, 0.99 * total) if total >= 100 else None,
            p99_9=_percentile(histogram, 0.999 * total) if total >= 1000 else None,
        )


def _percentile(histogram: Sequence[tuple[int, int]], rank: float) -> int:
    totals = accumulate(count for _, count in histogram)
    return next(value for (value, _), total in zip(histogram, totals, strict=True) if total >= rank)
