"""``fstui watch`` next to busy database servers, compared with the servers' and clients' own counts.

MariaDB with sysbench and PostgreSQL with pgbench, on an ext4 on a loop device. The watch starts before the load and
ends after it, so that both see the same syncs. Budget: every count within 2 %, no lost event, and a name for all files
except one sync in a hundred. Needs root.
"""

import asyncio
import re
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from fstui.databases.throwaway import ThrowawayServer
from fstui.model.watch import FileWaits
from tests.bench.pairs import arguments
from tests.bench.watch import report_of, watching
from tests.databases import servers
from tests.real import disks

OFF = 0.02
NAMELESS = 0.01
CLIENTS = (1, 8)
DISK_BYTES = 2 << 30


class Load(NamedTuple):
    """The client's own count."""

    transactions: int
    seconds: float


class Kind(ABC):
    """A server, its load, and its counts."""

    kind: ClassVar[str]
    program: ClassVar[str]
    options: ClassVar[Mapping[str, object]]
    counted: ClassVar[Mapping[str, str]]
    """Name of a count of syncs → pattern for the paths of the files that it covers."""
    each_transaction: ClassVar[str] = ""
    """The count that equals the transactions of a single client, if there is one."""

    @abstractmethod
    async def fill(self, server: ThrowawayServer) -> None:
        """Prepare the load and leave the server idle."""

    @abstractmethod
    async def load(self, server: ThrowawayServer, clients: int, seconds: float) -> Load:
        """Run the load."""

    @abstractmethod
    async def counts(self, server: ThrowawayServer) -> dict[str, int]:
        """Return the counts of the server so far."""


class MariaDB(Kind):
    """MariaDB with sysbench's oltp_write_only and a binary log."""

    kind = "mariadb"
    program = "mariadbd"
    options: ClassVar = {"sync_binlog": 1, "performance_schema": True}
    counted: ClassVar = {"performance_schema": r"/binlog\.\d+$", "Innodb_data_fsyncs": r"ib_logfile|ibdata|\.ibd$|undo"}
    each_transaction = "performance_schema"

    async def fill(self, server: ThrowawayServer) -> None:
        await servers.query(server, "CREATE DATABASE IF NOT EXISTS fstui")
        await text_of(*self._sysbench(server, "prepare"))

    async def load(self, server: ThrowawayServer, clients: int, seconds: float) -> Load:
        text = await text_of(*self._sysbench(server, f"--threads={clients}", f"--time={round(seconds)}", "run"))
        return Load(round(number(r"transactions: +(\d+)", text)), number(r"total time: +([\d.]+)s", text))

    async def counts(self, server: ThrowawayServer) -> dict[str, int]:
        rows = await servers.query(
            server,
            "SELECT 'performance_schema', SUM(count_misc) FROM performance_schema.file_summary_by_event_name "
            "WHERE event_name = 'wait/io/file/sql/binlog'",  # neither reads nor writes: syncs of the binary log
            "SELECT 'Innodb_data_fsyncs', variable_value FROM information_schema.global_status "
            "WHERE variable_name = 'Innodb_data_fsyncs'",
        )
        return {name: int(value) for name, value in rows}

    def _sysbench(self, server: ThrowawayServer, *words: str) -> tuple[str, ...]:
        reach = (f"--mysql-socket={server.connection.socket}", "--mysql-user=root", "--mysql-db=fstui")
        return ("sysbench", "oltp_write_only", *reach, "--tables=2", "--table-size=5000", *words)


class PostgreSQL(Kind):
    """PostgreSQL with pgbench's transaction. Its WAL writer syncs between transactions, so they are not compared."""

    kind = "postgresql"
    program = "postgres"
    options: ClassVar = {"checkpoint_timeout": "1h"}
    counted: ClassVar = {"pg_stat_wal.wal_sync": r"/pg_wal/[0-9A-F]{24}$"}

    async def fill(self, server: ThrowawayServer) -> None:
        await text_of(*self._pgbench(server, "-q", "-i", "-s", "5"))
        await servers.query(server, "CHECKPOINT")

    async def load(self, server: ThrowawayServer, clients: int, seconds: float) -> Load:
        text = await text_of(*self._pgbench(server, "-n", "-c", str(clients), "-T", str(round(seconds))))
        transactions = number(r"actually processed: (\d+)", text)
        return Load(round(transactions), transactions / number(r"tps = ([\d.]+)", text))

    async def counts(self, server: ThrowawayServer) -> dict[str, int]:
        await asyncio.sleep(2)  # its processes report from time to time, at the latest when they are idle
        ((syncs,),) = await servers.query(server, "SELECT wal_sync FROM pg_stat_wal")
        return {"pg_stat_wal.wal_sync": int(syncs)}

    def _pgbench(self, server: ThrowawayServer, *words: str) -> tuple[str, ...]:
        at = server.connection
        return ("pgbench", "-h", at.socket, "-p", str(at.port), "-U", at.user, *words, at.database)


def main(argv: list[str]) -> int:
    """Print both sides of each count. Return 1 if one differs, or if files have no names."""
    options = arguments(argv, "servers", rounds=1, directory=tempfile.gettempdir(), seconds=10)
    print(f"fstui watch next to busy servers for {options.seconds:g} s, on a loop in {options.dir}")
    print(f"{'':<40} by themselves    by the watch  ratio", flush=True)
    kinds: list[Kind] = [MariaDB(), PostgreSQL()]
    good = [
        asyncio.run(measured(kind, options.dir, clients, options.seconds))
        for _ in range(options.rounds)
        for kind in kinds
        for clients in CLIENTS
    ]
    return 0 if all(good) else 1


async def measured(kind: Kind, directory: str, clients: int, seconds: float) -> bool:
    """Run one load on a new server."""
    with (
        tempfile.TemporaryDirectory(prefix="fstui-bench-", dir=directory) as place,
        disks.on_loop(Path(place), size_bytes=DISK_BYTES) as storage,
    ):
        async with servers.existing_server(kind.kind, storage.directory / "server", **kind.options) as server:
            await kind.fill(server)
            before = await kind.counts(server)
            with watching() as watch:
                following = asyncio.create_task(asyncio.to_thread(report_of, watch))
                load = await kind.load(server, clients, seconds)
                after = await kind.counts(server)
                watch.send_signal(signal.SIGINT)
                report = await following
    counted = {name: after[name] - before[name] for name in after}
    if clients == 1 and kind.each_transaction:
        counted["transactions"] = load.transactions
    print(f"{kind.kind}, {clients} at once: {load.transactions / load.seconds:.0f} transactions/s")
    rows = [row for row in report.total.waits if row.program == kind.program and row.device == storage.device]
    return compared(kind, counted, load.seconds, rows) and not report.total.lost


def compared(kind: Kind, counted: Mapping[str, int], seconds: float, rows: Sequence[FileWaits]) -> bool:
    """Print both counts as rates."""
    good = True
    for name, count in counted.items():
        files = re.compile(kind.counted[kind.each_transaction if name == "transactions" else name])
        seen = sum(row.syncs for row in rows if row.file and files.search(row.file))
        kept = count > 0 and abs(seen / count - 1) <= OFF
        print(f"  {name:<36} {count / seconds:11.1f}/s  {seen / seconds:12.1f}/s  {seen / max(1, count):.4f}", end="")
        print("" if kept else "  MISSED")
        good &= kept
    nameless = sum(row.syncs for row in rows if not row.file) / max(1, sum(row.syncs for row in rows))
    most = rows[0].file_label if rows else "none"
    print(f"  {nameless:.2%} of the syncs without a name; most for {most}", flush=True)
    return good and nameless <= NAMELESS


async def text_of(*words: str) -> str:
    """Run a client while reading the output of the server's keeper."""
    done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def number(pattern: str, text: str) -> float:
    """Return the number after this text in the client's output."""
    found = re.search(pattern, text)
    return float(found[1]) if found else 0.0
