"""Records as the recorder writes them: a quiet quarter of an hour, and the changes that a test makes to it."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from fstui.model.recording import DeviceSecond, Header, ProcessIo, Record, RecordedWait, Second, Window
from fstui.state import recording, ring
from fstui.state.files import create_private_directory

BEGIN = 1_764_164_000.0
"""26 November 2025, 13:33:20 UTC."""
LENGTH_S = 900
ETCD = RecordedWait(
    program="etcd", pid=812, call="fdatasync", file="/var/lib/etcd/wal/0.wal", device="vda", below=("vda",),
    syncs=400, waited_ms=900, longest_ms=12, p50_us=2000, cgroup="/system.slice/etcd.service",
)  # fmt: skip
RSYNC = ProcessIo(
    program="rsync", pid=4711, read=0, written=3_100_000_000, cgroup="/system.slice/backup.service", devices=("vda",)
)


def disk(ms_per_write: float = 2.0, *, name: str = "vda", writes: int = 80, **changes: int) -> DeviceSecond:
    written_ms = int(ms_per_write * writes)
    calm = DeviceSecond(name, 0, 0, writes, 4 * writes, written_ms, writes // 2, writes, 0, 0, 0, 0)
    return replace(calm, **changes)


def header(at: float = BEGIN, **changes: object) -> Header:
    calm = Header(
        at=at, boot_s=at - BEGIN + 5000, elapsed_s=0.0, version="0.1.0", host="db1", kernel="6.18", boot="b1",
        anonymous=False, untraced="", started=True,
    )  # fmt: skip
    return replace(calm, **changes)


def second(at_s: int, *devices: DeviceSecond, **changes: object) -> Second:
    at = BEGIN + at_s
    calm = Second(
        at=at, boot_s=at_s + 5000.0, elapsed_s=1.0, pressure_ms=(50, 20, 10, 0, 0), memory_kib=(2048, 0),
        devices=devices or (disk(),),
    )  # fmt: skip
    return replace(calm, **changes)


def window(at_s: int, *waits: RecordedWait, **changes: object) -> Window:
    calm = Window(
        at=BEGIN + at_s, boot_s=at_s + 5000.0, elapsed_s=10.0, traced_s=10.0, waits=waits or (ETCD,), processes=()
    )
    return replace(calm, **changes)


def stalled(row: RecordedWait = ETCD, ms: int = 4000, *, cpu_ms: int = 0, **changes: object) -> RecordedWait:
    """Return a row whose slow sync took ``ms``, and returned two seconds before the end of the window."""
    slow = replace(row, syncs=5, waited_ms=ms + 100, longest_ms=ms, p50_us=900_000, slow=((2.0, ms, cpu_ms),))
    return replace(slow, **changes)


def calm(
    seconds: Callable[[int], Second | None] = lambda at_s: None,
    windows: Callable[[int], Window | None] = lambda at_s: None,
    untraced: str = "",
) -> list[Record]:
    """Return a quiet quarter of an hour. If a function returns a record for a time, it replaces the quiet one."""
    records: list[Record] = [header(untraced=untraced)]
    for at_s in range(1, LENGTH_S):
        records.append(seconds(at_s) or second(at_s))
        if at_s % 10 == 0:
            bare = window(at_s, traced_s=None, waits=()) if untraced else window(at_s)
            records.append(windows(at_s) or bare)
    return records


def between(first_s: int, last_s: int, *devices: DeviceSecond, **changes: object) -> Callable[[int], Second | None]:
    """Return a function for ``calm``: it replaces the seconds from the first to the last."""
    return lambda at_s: second(at_s, *devices, **changes) if first_s <= at_s <= last_s else None


def at(times_s: Sequence[int], *waits: RecordedWait, **changes: object) -> Callable[[int], Window | None]:
    """Return a function for ``calm``: it replaces the windows at these times."""
    return lambda at_s: window(at_s, *waits, **changes) if at_s in times_s else None


def on_disk(records: Sequence[Record]) -> None:
    """Write the records into several files, as the recorder does."""
    made = ring.Ring(create_private_directory(recording.directory()))
    for number, one in enumerate(records):
        if number % 66 == 65:
            made.close()
        made.write(msgspec.to_builtins(one))
