"""A busy made-up host: changing numbers, a database, and earlier runs."""

from collections.abc import Iterable
from itertools import accumulate
from math import sin

from msgspec.structs import replace

from fstui.model.activity import ActiveWriter, HostActivity, RunningDatabase
from fstui.model.counters import Counters, DeviceCounters
from fstui.model.run import Run
from fstui.model.storage import Node
from tests.factories import screens

SECONDS = 900
LAST = 700
"""The last reading that differs from the one before, so that timers of the screen change nothing afterwards."""
_WRITES = list(accumulate(int(300 + 250 * sin(at / 40) + at * 37 % 60) for at in range(SECONDS)))
_FLUSHES = list(accumulate(int(90 + 70 * sin(at / 40) + at * 17 % 20) for at in range(SECONDS)))
_FLUSH_MS = list(
    accumulate(int(120 + 100 * sin(at / 40) + (900 if at % 97 == 0 else at * 7 % 30)) for at in range(SECONDS))
)
_BUSY_MS = list(accumulate(int(500 + 420 * sin(at / 40)) for at in range(SECONDS)))

AT_WORK = HostActivity(
    writers=(
        ActiveWriter(pid=812, name="mysqld", bytes_per_s=3_251_000, mounts=("/srv/queue",)),
        ActiveWriter(pid=990, name="rsync", bytes_per_s=411_000, mounts=("/srv/queue",)),
    ),
    databases=(
        RunningDatabase(
            pid=812,
            name="mysqld",
            kind="mysql",
            data_directory="/srv/queue/mysql",
            mounts=("/srv/queue",),
            variables={"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"},
        ),
    ),
)


class BusyMachine(screens.PreparedMachine):
    """A machine with one reading of the counters per second, up to LAST. All devices have the same counters."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = AT_WORK

    def counters(self, stack: Iterable[Node]) -> Counters:
        at = self.readings = min(self.readings + 1, LAST)
        devices = {node.id: node for node in stack if node.counted and node.layer == "block"}.values()
        return Counters(
            monotonic_ns=at * 1_000_000_000,
            devices=tuple(
                DeviceCounters(
                    device=node.id,
                    reads=at // 3,
                    writes=_WRITES[at],
                    written_bytes=_WRITES[at] * 16384,
                    write_ms=_WRITES[at],
                    flushes=_FLUSHES[at] if node.lowest else None,
                    flush_ms=_FLUSH_MS[at] if node.lowest else None,
                    busy_ms=_BUSY_MS[at],
                    in_flight=1,
                )
                for node in devices
            ),
        )


def run_of_the_queue(id_: str, day: int, times: float) -> Run:
    """Return an earlier run on the storage of ``screens.QUEUE``."""
    steps = tuple(replace(step, rate_per_s=step.rate_per_s * times) for step in screens.STEPS)
    started_at = f"2026-10-{day:02d}T08:00:00+00:00"
    return replace(screens.RUN, id=id_, started_at=started_at, steps=steps, target=screens.QUEUE, status="finished")
