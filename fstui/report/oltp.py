"""What databases got, in the table that readers of benchmarks know: one per configuration, a column per workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fstui.judge import promises
from fstui.model import Run, Step
from fstui.quantities import count, counted, plain, rate, ratio
from fstui.report import figures

NONE = "–"
PREFIX = "oltp_"
_ROWS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("queries read", ("queries", "read")),
    ("write", ("queries", "write")),
    ("other", ("queries", "other")),
    ("total", ("queries", "total")),
    ("transactions", ("transactions",)),
    ("tps", ("tps",)),
    ("qps", ("qps",)),
    ("min ms", ("latency_ms", "min")),
    ("avg ms", ("latency_ms", "avg")),
    ("max ms", ("latency_ms", "max")),
    ("p95 ms", ("latency_ms", "p95")),
)


class Table(NamedTuple):
    """A title, a header, rows of equal length; the first column is text, the others are numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(run: Run) -> list[Table]:
    """One per configuration, then durable against not durable. Empty where no database was measured."""
    blocks = _blocks(run)
    found = [_block(run, title, steps) for title, steps in blocks.items()]
    compared = tuple(_compared(run))
    if compared:
        header = ("", "durable tps", "not durable", "times", "flushes/trx")
        found.append(Table("Durable against not durable", header, compared))
    return found


def notes(run: Run) -> list[str]:
    """Sentences about what the tables alone would not tell."""
    servers = {plain(server["title"]): server for step in measured(run) if (server := step.figures.get("server"))}
    sentences = [
        f"{title}: its binary log was on, as replication has it. MariaDB ships with it off, and sync_binlog then "
        "changes nothing."
        for title, server in servers.items()
        if promises.log_is_ours(server)
    ]
    sentences += [
        f"{title}, {plain(str(server.get('reached')))}: {plain(', '.join(settings))}; read, not changed."
        for title, server in servers.items()
        if server.get("where") == "existing" and (settings := promises.stated(server))
    ]
    sentences += [
        f"{title}: its data{_where(server)} is not on the filesystem that was measured: what the devices counted is "
        "not its doing."
        for title, server in servers.items()
        if not promises.is_on_target(server)
    ]
    sentences += _of_the_flag(run)
    limited = [step for step in measured(run) if promises.limited_by_processor(step)]
    if limited:
        shares = ", ".join(f"{plain(step.name)} ({round(100 * step.figures['cpu_share'])} %)" for step in limited)
        sentences.append(f"The processor, not the storage, was the limit of: {shares}.")
    return sentences


def _of_the_flag(run: Run) -> list[str]:
    """Whether O_DSYNC, which some databases open their files with, is taken as seriously as the call."""
    found = {step.name: step for step in run.steps if step.probe == "sync_writes" and step.ops}
    by_call, by_flag = found.get("fdatasync"), found.get("O_DSYNC")
    if by_call is None or by_flag is None or not measured(run):
        return []
    told = ", ".join(
        f"{rate(step.rate_per_s)}/s through {what} ({_per_sync(run, step)} flushes each)"
        for step, what in ((by_call, "write + fdatasync"), (by_flag, "O_DSYNC"))
    )
    return [f"The same blocks without a database: {told}."]


def _per_sync(run: Run, step: Step) -> str:
    flushed = figures.flushes_per_sync(step, run.target)
    return NONE if flushed is None else ratio(flushed)


def _where(server: dict[str, Any]) -> str:
    data = server.get("data_directory")
    return f", {plain(str(data))}," if data else ""


def measured(run: Run) -> list[Step]:
    """The steps that have a database's figures."""
    return [step for step in run.steps if step.probe == "sysbench" and "tps" in step.figures]


def csv_cells(step: Step) -> Iterator[tuple[str, object]]:
    """The columns of a step in a spreadsheet; empty for what is no database."""
    server: dict[str, Any] = step.figures.get("server") or {}
    yield "server", plain(server.get("title", ""))
    for name in ("workload", "threads", "tables", "rows"):
        yield name, step.settings.get(name) if step.probe == "sysbench" else None
    variables = server.get("variables") or {}
    yield "server_settings", plain("; ".join(f"{name}={value}" for name, value in variables.items()))
    for label, path in _ROWS:
        name = "_".join(path) if len(path) > 1 else label
        yield name, _figure(step, path)
    yield "cpu_share", step.figures.get("cpu_share")


def _blocks(run: Run) -> dict[str, list[Step]]:
    blocks: dict[str, list[Step]] = {}
    for step in measured(run):
        blocks.setdefault(_title(step), []).append(step)
    return blocks


def _title(step: Step) -> str:
    server: dict[str, Any] = step.figures.get("server") or {}
    options = [f"{name} {_word(value)}" for name, value in step.settings.get("options", {}).items()]
    threads = step.settings.get("threads", 1)
    clients = counted(threads, "client")
    return plain(" · ".join([server.get("title", "server"), *options, clients]))


def _word(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _block(run: Run, title: str, steps: Sequence[Step]) -> Table:
    names = tuple(plain(step.settings["workload"].removeprefix(PREFIX)) for step in steps)
    rows = [(label, *(_text(_figure(step, path)) for step in steps)) for label, path in _ROWS]
    rows.append(("flushes/trx", *(_flushes(run, step) for step in steps)))
    return Table(title, ("", *names), tuple(rows))


def _compared(run: Run) -> Iterator[tuple[str, ...]]:
    """Neighbours that differ in nothing but durability."""
    pairs: dict[tuple[object, ...], dict[bool, Step]] = {}
    for step in measured(run):
        server = step.figures.get("server") or {}
        rest = tuple(pair for pair in step.settings["options"].items() if pair[0] not in promises.DURABILITY)
        key = (server.get("title"), step.settings["workload"], step.settings["threads"], rest)
        pairs.setdefault(key, {})[not promises.broken_promises(server)] = step
    for (title, workload, *_), pair in pairs.items():
        if len(pair) == 2 and workload not in promises.READ_ONLY:
            durable, other = pair[True], pair[False]
            times = other.figures["tps"] / durable.figures["tps"] if durable.figures["tps"] else None
            yield (
                plain(f"{title} {str(workload).removeprefix(PREFIX)}"),
                rate(durable.figures["tps"]),
                rate(other.figures["tps"]) + (" (processor)" if promises.limited_by_processor(other) else ""),
                NONE if times is None else f"{ratio(times)} ×",
                f"{_flushes(run, durable)} → {_flushes(run, other)}",
            )


def _flushes(run: Run, step: Step) -> str:
    ours = promises.is_on_target(step.figures.get("server") or {})
    flushed = figures.flushes(step, run.target) if ours else None
    return NONE if flushed is None or not step.ops else ratio(flushed / step.ops)


def _figure(step: Step, path: tuple[str, ...]) -> int | float | None:
    value: Any = step.figures
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, int | float) else None


def _text(value: int | float | None) -> str:
    return NONE if value is None else count(value) if isinstance(value, int) else f"{value:.2f}"
