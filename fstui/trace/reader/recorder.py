"""Program: every second, record counters; every ten seconds, as root, record who waits. Runs until a signal.

stdin: nothing. argv: a line of JSON with "directory" and "max_bytes" of the ring, "seconds" until the end or null,
"anonymous", and "name" and "entry" of the trace instance (null if there is to be no trace). It writes through a child,
because the disk of the state directory may hang; what does not fit into the pipe between them is dropped and counted.
It says on stderr what it does.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fstui import proc
from fstui.state.ring import Ring
from fstui.trace.reader.files import block_device, loop_status, request_devices
from fstui.trace.reader.processes import KERNEL_THREAD
from fstui.trace.reader.record import remove_entry
from fstui.trace.reader.recording import Wanted
from fstui.trace.reader.spans import Span, WaitRow
from fstui.trace.reader.tracefs import PREFIX, TracefsError
from fstui.trace.reader.waits import EVENTS, FUA_WRITES, SLOW_NS, SyncedFile
from fstui.trace.reader.watch import Calls

SECOND, WINDOW_S = 1.0, 10.0
MAX_TRACED_BYTES = 200_000
"""About 5000 events. If a window has more, the busiest threads are left out, to use little CPU time."""
MIN_TRACED_S = 0.1
WALK_SHARE = 0.002
"""Share of the time that may be spent on reading what every process has read and written."""
MAX_DEVICES = 32  # of a second
MAX_ROWS = 24  # of a window
MAX_OF_A_PROGRAM = 4  # rows on one device
MAX_WAITS = 20  # of a row
MAX_PROCESSES = 8  # of a window
MAX_FILES = 256  # descriptors of a process
MAX_AT_ONCE = 24  # threads left out in one step
MAX_LEFT_OUT = 72  # threads
BUSY_SHARE = 0.8  # of all calls, made by the threads that are left out in one step
MIN_BYTES = 256 << 10
"""A process that wrote or read less in a window is not recorded."""
PIPE_BYTES = 1 << 20
END_S, LOCK_S = 5.0, 2.0
HEADER_S = 300.0
REFUSED = 2
"""Exit status if recording could not start."""
DISCARDS = ("common_pid", "dev", "sector", "nr_sector", "rwbs")
SYNC_CALLS: Mapping[str, frozenset[str]] = {
    "x86_64": frozenset({"74", "75", "26", "162", "306", "277"}),
    "aarch64": frozenset({"82", "83", "227", "81", "267", "84"}),
}
"""Numbers of the system calls in ``EVENTS["called"]``."""
_IN_SYNC = SYNC_CALLS.get(os.uname().machine, frozenset())
_FIELDS, _SECTORS = (0, 2, 3, 4, 6, 7, 15, 16, 11, 13, 14, 9, 8), (2, 6, 13)
"""Positions in /proc/diskstats after the name (Documentation/admin-guide/iostats.rst)."""
Object = dict[str, Any]


class LeftOut(NamedTuple):
    """A thread that is not traced now. ``switches``: how many times it had blocked at the last look."""

    since_ns: int
    switches: int | None
    file: SyncedFile | None


class Trace(Calls):
    """Who waits for which file, and who discards.

    If there are many events, the threads that make most of them are left out until the window ends. They are looked at
    once a second: if one of them is blocked, all are traced again. If that is not enough, tracing stops.
    """

    def __init__(self, name: str) -> None:
        """Raises TracefsError or OSError, and then leaves nothing behind."""
        super().__init__(name, pid=None, device=None, calls=True)
        self._call_of: dict[int, str] = {}
        self._discarded: Counter[tuple[int, int]] = Counter()
        self.first_s = WINDOW_S
        """How far into the next window the busiest threads are left out."""
        self._began_s, self._traced_s = time.monotonic(), 0.0
        self._bytes = self._lost = 0
        self._left_out: dict[int, LeftOut] = {}
        self._stopped = False
        try:
            self._extend()
        except BaseException:
            self.remove()
            raise

    def _extend(self) -> None:
        """Also record the name of each call, and discards."""
        recording, handlers = self._watcher.recording, self._watcher.handlers
        for event, fields in EVENTS["called"].items():
            with contextlib.suppress(TracefsError):
                handlers[recording.learn(Wanted(event, fields))] = self._naming(event.rpartition("_enter_")[2])
        with contextlib.suppress(TracefsError):
            number = recording.enable(Wanted("block/block_bio_queue", DISCARDS, f'{FUA_WRITES} || rwbs ~ "D*"'))
            handlers[number] = self._submitted

    def _naming(self, name: str) -> Callable[..., None]:
        called, call_of = self._watcher.waits.called, self._call_of

        def handle(time_ns: int, thread: int, fd: int = -1) -> None:
            call_of[thread] = name
            called(time_ns, thread, fd)

        return handle

    def _submitted(self, time_ns: int, thread: int, device: int, *bio: Any) -> None:
        sector, sectors, rwbs = bio
        if rwbs[:1] == b"D":
            self._discarded[thread, device] += sectors * 512
        elif rwbs[:2] == b"WF":
            self._watcher.waits.fua_submitted(time_ns, thread, device, sector)

    def tick(self) -> None:
        """Trace fewer threads if there are many events, and those again that are blocked."""
        self._look()
        self._watcher.recording.collect()
        most = MAX_TRACED_BYTES // 2 if self._left_out else MAX_TRACED_BYTES
        if not self._stopped and self._watcher.recording.collected_bytes - self._bytes >= most:
            self.narrow()

    def narrow(self) -> None:
        """Leave out the threads with the most events. Stop if many are left out already."""
        instance, waits = self._watcher.recording.instance, self._watcher.waits
        self._watcher.read()
        if not self._left_out:
            self._traced_s = time.monotonic() - self._began_s
            seen = self._watcher.recording.collected_bytes - self._bytes
            self.first_s = max(MIN_TRACED_S, MAX_TRACED_BYTES * self._traced_s / max(seen, 1))
        calls: Counter[int] = Counter()
        files: dict[int, SyncedFile] = {}
        for (thread, *file), durations in waits.done.items():
            if thread not in self._left_out:
                calls[thread] += durations.count
                files[thread] = SyncedFile(*file)
        busiest = busiest_of(calls)
        try:
            if len(self._left_out) >= MAX_LEFT_OUT:
                raise TracefsError
            # Linux 5.7
            instance.write("set_event_notrace_pid", " ".join(map(str, [*self._left_out, *busiest])))
        except TracefsError:
            instance.write("tracing_on", "0")
            self._stopped = True
        self._watcher.read()  # calls that began before this took effect are open, and their end is not traced
        opened = {thread for thread, _, _ in waits.open()} if self._stopped else set()
        self._leave_out(opened | set(busiest), files)
        self._bytes = self._watcher.recording.collected_bytes

    def _leave_out(self, threads: Iterable[int], files: Mapping[int, SyncedFile]) -> None:
        now_ns = time.monotonic_ns()
        for thread in threads:
            self._left_out.setdefault(thread, LeftOut(now_ns, switches(thread), files.get(thread)))

    def _resume(self) -> None:
        if self._left_out:
            with contextlib.suppress(TracefsError):
                self._watcher.recording.instance.write("set_event_notrace_pid", "")
        if self._stopped:
            self._watcher.recording.instance.write("tracing_on", "1")
        self._left_out.clear()
        self._stopped = False

    def _look(self) -> None:
        """Trace again if a thread that is left out has been blocked in a sync since the last look."""
        waits = self._watcher.waits
        self._end_returned()
        opened = {thread for thread, _, _ in waits.open()}
        blocked = {}
        for thread, known in self._left_out.items():
            now = switches(thread)
            if (
                known.file
                and thread not in opened
                and now is not None
                and now == known.switches
                and is_blocked(thread, known.file)
            ):
                blocked[thread] = known.file
            elif thread not in opened:
                self._left_out[thread] = known._replace(switches=now)
        if blocked:
            self._resume()
            since_ns = time.monotonic_ns() - int(SECOND * 1e9)
            for thread, file in blocked.items():
                if file.fd >= 0:
                    waits.called(since_ns, thread, file.fd)
                if file.inode:
                    waits.sync_began(since_ns, thread, file.device, file.inode)

    def _end_returned(self) -> None:
        """End the calls of threads that were left out while in a call, and have returned since."""
        waits = self._watcher.waits
        for thread, _, _ in list(waits.open()):
            known = self._left_out.get(thread)
            if known and switches(thread) != known.switches:
                waits.returned(known.since_ns, thread, 0)
                waits.sync_ended(known.since_ns, thread)

    def _forget_unconfirmed(self, *, all_of_them: bool) -> None:
        """Forget old calls whose threads are not blocked in them: their end was lost or not traced."""
        waits, now_ns = self._watcher.waits, time.monotonic_ns()
        for thread, file, since_ns in list(waits.open()):
            if now_ns - since_ns >= SLOW_NS and (all_of_them or not is_blocked(thread, file)):
                waits.forget(thread)

    def end_window(self, elapsed_s: float, anonymous: bool) -> Object:
        self._watcher.read()
        traced_s = self._traced_s if self._left_out else elapsed_s
        self._end_returned()
        lost = self._newly_lost()
        self._forget_unconfirmed(all_of_them=lost > 0)
        span = Span()
        found = self.rows_of(span)
        for end_ns, took_ns, (thread, *file) in self._watcher.waits.slow:
            row = found.row(thread, SyncedFile(*file))
            row.slow.append((end_ns, took_ns))
            row.call = self._call_of.get(thread, "") if file[2] >= 0 else ""
        rows = [
            row
            for row in few_of_each(span.rows.combined().values())
            if row.durations.count or row.timeless or row.in_flight_ns
        ]
        result = {
            "traced_s": round(min(traced_s, elapsed_s), 2),
            "lost": lost,
            "waits": [_row(row, anonymous) for row in rows[:MAX_ROWS]],
            "discards": list(self._discards()),
        }
        self._watcher.waits.clear()
        self._watcher.take_commits()
        self._watcher.errors.clear()
        self._call_of.clear()
        self._begin_window()
        return result

    def _newly_lost(self) -> int:
        before, self._lost = self._lost, self._watcher.recording.lost()
        return self._lost - before

    def _discards(self) -> Iterator[Object]:
        """Yield the programs that discarded most. Those of one name count together: they may be many."""
        programs = self._programs.of({thread for thread, _ in self._discarded})
        sums: Counter[tuple[str, str]] = Counter()
        for (thread, number), size in self._discarded.items():
            sums[programs[thread].name, block_device(number) or "?"] += size
        for (program, device), size in sums.most_common(MAX_PROCESSES):
            yield {"program": program, "device": device, "bytes": size}
        self._discarded.clear()

    def _begin_window(self) -> None:
        if not self._left_out:
            self.first_s = WINDOW_S
        self._bytes, self._began_s = self._watcher.recording.collected_bytes, time.monotonic()
        self._resume()


def busiest_of(calls: Counter[int]) -> list[int]:
    """Return the few threads that make most of the calls."""
    found: list[int] = []
    left = calls.total() * BUSY_SHARE
    for thread, number in calls.most_common(MAX_AT_ONCE):
        if left <= 0:
            break
        found.append(thread)
        left -= number
    return found


def few_of_each(rows: Iterable[WaitRow]) -> list[WaitRow]:
    """Return the rows, longest wait first. From the MAX_OF_A_PROGRAM-th on, merge those of a program on a device."""
    found: dict[tuple[str, bool, str | None], list[WaitRow]] = {}
    for row in sorted(rows, key=_waited_ns, reverse=True):
        alike = found.setdefault((row.key.name, row.key.is_kernel, row.device), [])
        if len(alike) < MAX_OF_A_PROGRAM:
            alike.append(row)
        else:
            alike[-1].merge(row)
            alike[-1].path = None
    return sorted((row for alike in found.values() for row in alike), key=_waited_ns, reverse=True)


def _waited_ns(row: WaitRow) -> int:
    return row.durations.sum_ns + (row.in_flight_ns or 0)


def _row(row: WaitRow, anonymous: bool) -> Object:
    now_ns = time.monotonic_ns()
    pid = next(iter(row.pids), 0)
    name = device_at(row.path) if not row.below else None
    if name:
        row.device, row.below = name, frozenset(request_devices(name))
    device = row.key.file.device
    mounts = () if row.below else (*proc.mounts(pid), *proc.mounts())
    mount = next((mount for mount in mounts if device and proc.device_number(mount.device) == device), None)
    whole = row.as_dict(None)
    longest = sorted(row.slow, key=lambda one: -one[1])[:MAX_WAITS]
    fields = {
        "program": whole["program"], "pid": whole["pid"], "processes": whole["processes"], "kernel": whole["kernel"],
        "call": row.call, "file": "" if anonymous else whole["file"], "inode": whole["inode"],
        "device": whole["device"], "below": sorted(disks_below(row.below)), "fstype": mount.fstype if mount else "",
        "mount_point": mount.mount_point if mount and not anonymous else "",
        "syncs": whole["syncs"], "waited_ms": row.durations.sum_ns // 1_000_000,
        "longest_ms": row.durations.longest // 1_000_000,
        "p50_us": row.durations.percentile(0.5) // 1000 if row.durations.count else 0,
        "cpu_ms": whole["cpu_ns"] // 1_000_000, "in_flight_ms": (row.in_flight_ns or 0) // 1_000_000,
        "cgroup": cgroup_of(pid), "limits": limits_of(pid),
        "slow": [[round((now_ns - end_ns) / 1e9, 2), took_ns // 1_000_000] for end_ns, took_ns in sorted(longest)],
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}


def device_at(path: str | None) -> str | None:
    """Return the block device with this path in /dev, which is never on a disk."""
    if path and path.startswith("/dev/"):
        with contextlib.suppress(OSError):
            found = os.stat(path)
            return block_device(os.major(found.st_rdev) << 20 | os.minor(found.st_rdev)) if found.st_rdev else None
    return None


def disks_below(devices: Iterable[str]) -> set[str]:
    """Return these devices, and the disks of the backing files of those that are loops."""
    found = set(devices)
    for name in [name for name in found if name.startswith("loop")]:
        with contextlib.suppress(OSError):
            number = loop_status(name)[0]
            device = block_device(os.major(number) << 20 | os.minor(number))
            found |= disks_below(request_devices(device)) if device else set()
    return found


def switches(thread: int) -> int | None:
    """Return how many times a thread has blocked; None if it has ended."""
    text = proc.read_text(f"/proc/{thread}/status")
    found = text.rpartition("\nvoluntary_ctxt_switches:")[2].split()
    return int(found[0]) if found and found[0].isdigit() else None


def is_blocked(thread: int, file: SyncedFile) -> bool:
    """Return whether a thread is blocked in a sync. Only a sync made by a system call has a descriptor."""
    if file.fd >= 0 and _IN_SYNC:
        return proc.read_text(f"/proc/{thread}/syscall").partition(" ")[0] in _IN_SYNC
    found = proc.stat(thread)
    return found is not None and found.state == "D"


def cgroup_of(pid: int) -> str:
    """Return the cgroup by which an administrator knows a process: that of its service or container."""
    groups = proc.cgroups(proc.read_text(f"/proc/{pid}/cgroup"))
    named = (groups.get(name, "/") for name in ("", "name=systemd", "blkio", "memory", "cpu"))
    return next((path for path in named if path != "/"), "")


def limits_of(pid: int) -> list[str]:
    """Return the io limits that apply to a process: ``vda wiops 100``."""
    limits = proc.io_limits(proc.mounts(), proc.read_text(f"/proc/{pid}/cgroup"), proc.read_text)
    found = []
    for limit in limits:
        device, _, what = limit.what.partition(" ")
        found.append(f"{block_device(proc.device_number(device)) or device} {what} {limit.value}")
    return list(dict.fromkeys(found))


class HostCounters:
    """What the devices and the host did since the last reading."""

    def __init__(self) -> None:
        self._disks = read_disks()
        self._pressure = read_pressure()
        self._queued: dict[str, bool] = {}

    def second(self) -> Object:
        """Return what was counted since the last call: only devices that did something."""
        disks, pressure = read_disks(), read_pressure()
        moved: list[list[Any]] = []
        for name, now in disks.items():
            before = self._disks.get(name)
            if before is None or (before[:-1] == now[:-1] and not now[-1]) or not self._has_queue(name):
                continue
            moved.append([name, *(max(a - b, 0) for a, b in zip(now[:-1], before[:-1], strict=True)), now[-1]])
        moved.sort(key=lambda one: -(one[3] + one[6] + one[11]))
        host = [
            None if a is None or b is None else (a - b) // 1000 for a, b in zip(pressure, self._pressure, strict=True)
        ]
        self._disks, self._pressure = disks, pressure
        return {"pressure_ms": host, "memory_kib": read_memory(), "devices": moved[:MAX_DEVICES]}

    def _has_queue(self, name: str) -> bool:
        """Return whether it is a disk that gets requests. dm, md and partitions pass them on."""
        if name not in self._queued:
            self._queued[name] = os.path.isdir(f"/sys/block/{name}/mq")
        return self._queued[name]


def read_disks() -> dict[str, list[int]]:
    """Return per device: reads, KiB read, ms; writes, KiB, ms; flushes, ms; discards, KiB, ms; busy ms; in flight."""
    found: dict[str, list[int]] = {}
    for line in proc.read_text("/proc/diskstats").splitlines():
        words = line.split()
        if len(words) >= 20:
            numbers = list(map(int, words[3:20]))
            found[words[2]] = [numbers[at] // 2 if at in _SECTORS else numbers[at] for at in _FIELDS]
    return found


def read_pressure() -> list[int | None]:
    """Return µs since boot: cpu some; io some, full; memory some, full. None without pressure stall information."""
    found: list[int | None] = []
    for name, kinds in (("cpu", 1), ("io", 2), ("memory", 2)):
        lines = proc.read_text(f"/proc/pressure/{name}").splitlines()[:kinds]
        found += [int(line.rpartition("total=")[2]) for line in lines] or [None] * kinds
    return found


def read_memory() -> list[int]:
    """Return the dirty memory and that under writeback, in KiB."""
    fields = dict(line.split(":", 1) for line in proc.read_text("/proc/meminfo").splitlines() if ":" in line)
    return [int(fields.get(name, "0").split()[0]) for name in ("Dirty", "Writeback")]


class Processes:
    """What processes read and write, without those of the recorder."""

    def __init__(self, own: set[int]) -> None:
        self._own = own
        self._before: dict[int, tuple[int, int]] | None = None
        self._cost_s, self._at_s = 0.0, 0.0

    def moved(self) -> list[Object] | None:
        """Return those that read or wrote most since the last reading; None if it is too early for another one."""
        now_s = time.monotonic()
        if now_s - self._at_s < self._cost_s / WALK_SHARE:
            return None
        began_s = time.thread_time()
        now = {pid: moved for pid in proc.pids() if pid not in self._own and (moved := proc.io_bytes(pid))}
        before, self._before = self._before, now
        self._cost_s, self._at_s = time.thread_time() - began_s, now_s
        if before is None:
            return []
        grown = {
            pid: (read - before.get(pid, (0, 0))[0], wrote - before.get(pid, (0, 0))[1])
            for pid, (read, wrote) in now.items()
        }
        most = sorted((pid for pid in grown if sum(grown[pid]) >= MIN_BYTES), key=lambda pid: -sum(grown[pid]))
        return [
            {
                "program": found.name, "pid": pid, "read": max(grown[pid][0], 0), "written": max(grown[pid][1], 0),
                "cgroup": cgroup_of(pid), "devices": written_devices(pid),
            }
            for pid in most[: 2 * MAX_PROCESSES]
            if (found := proc.stat(pid)) and not found.flags & KERNEL_THREAD  # they write for others
        ][:MAX_PROCESSES]  # fmt: skip


def written_devices(pid: int) -> list[str]:
    """Return the disks below the files that a process has open for writing."""
    with contextlib.suppress(OSError):
        mounts = {mount.number: mount.device for mount in proc.mounts(pid)}
        open_ = os.listdir(f"/proc/{pid}/fd")[:MAX_FILES]
        found = {mounts.get(proc.mount_id(fd, pid, writable=True) or 0) for fd in open_}
        names = {block_device(proc.device_number(device)) for device in found if device}
        return sorted({disk for name in names if name for disk in request_devices(name)})
    return []


class Writer:
    """The child that writes the ring."""

    def __init__(self, directory: str, max_bytes: int) -> None:
        reading, self._pipe = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(self._pipe)
            write_ring(reading, directory, max_bytes)
        os.close(reading)
        os.set_blocking(self._pipe, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._dropped = 0

    def write(self, record: Object) -> bool:
        """Pass a record on. Returns False if the child has ended."""
        if self._dropped:
            record = {**record, "dropped": self._dropped, "trouble": "the state directory did not answer"}
        data = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        try:
            rest = data[os.write(self._pipe, data) :]
        except BlockingIOError:
            self._dropped += 1
            return True
        except BrokenPipeError:
            return False
        if rest:
            os.set_blocking(self._pipe, True)
            os.write(self._pipe, rest)
            os.set_blocking(self._pipe, False)
        self._dropped = 0
        return True

    def close(self, entry: str | None) -> None:
        """Let it write what it has and remove the entry in the ledger, but do not wait for a disk that hangs."""
        self.write({"entry": entry})
        os.close(self._pipe)
        until_s = time.monotonic() + END_S
        while time.monotonic() < until_s and os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            time.sleep(0.01)


def write_ring(pipe: int, directory: str, max_bytes: int) -> None:
    """Write the records that arrive until the pipe is closed, and end this process."""
    status = 1
    try:
        ring = Ring(Path(directory), max_bytes)
        complained, entry = False, None
        with os.fdopen(pipe, "rb") as lines:
            for line in lines:
                record = json.loads(line)
                if "entry" in record:
                    entry = record["entry"]
                    break
                ring.write(record)
                if ring.dropped and not complained:
                    say(f"records are lost: {ring.trouble}")
                complained = bool(ring.dropped)
        ring.close()
        remove_entry(entry)  # only if the trace was removed, not if the recorder was killed
        status = 0
    except OSError as error:
        say(f"{directory}: {error.strerror}")
    finally:
        os._exit(status)


def say(sentence: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"fstui: {sentence}\n".encode(errors="replace"))


def lock(directory: str) -> int:
    """Lock the directory for this recorder and return the descriptor. Raises OSError, including if another one runs."""
    fd = os.open(f"{directory}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    until_s = time.monotonic() + LOCK_S  # the writer of a killed recorder needs a moment to end
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(0.1)


class Recorder:
    """Takes the records."""

    def __init__(self, settings: Object, writer: Writer, trace: Trace | None, untraced: str) -> None:
        self._settings, self._writer, self._trace = settings, writer, trace
        self._counters = HostCounters()
        self._processes = Processes({os.getpid(), writer.pid})
        self._processes.moved()
        self._last_s = self._window_s = time.monotonic()
        self._header = {
            "version": settings["version"], "host": os.uname().nodename, "kernel": os.uname().release,
            "boot": proc.read_text("/proc/sys/kernel/random/boot_id").strip(),
            "anonymous": settings["anonymous"], "untraced": untraced,
        }  # fmt: skip
        self._header_s = 0.0
        self._started = True

    def second(self) -> bool:
        """Take the records of a second. Returns False if they cannot be written any more."""
        now_s = time.monotonic()
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        if now_s - self._header_s >= HEADER_S or self._started:
            header = {**self._stamp("header", 0.0), **self._header, "started": self._started}
            self._started, self._header_s = False, now_s
            self._writer.write(header)
        alive = self._writer.write({**self._stamp("second", elapsed_s), **self._counters.second()})
        into_s = now_s - self._window_s
        if into_s < WINDOW_S - SECOND / 2:
            if self._trace:
                self._trace.tick()
            return alive
        self._window_s = now_s
        seen = self._trace.end_window(into_s, self._settings["anonymous"]) if self._trace else {}
        record = {**self._stamp("window", into_s), **seen, "processes": self._processes.moved()}
        return self._writer.write(record) and alive

    def first_s(self) -> float:
        """Return how far into the next second to leave out the busiest threads."""
        return self._trace.first_s if self._trace and self._window_s == self._last_s else SECOND

    def narrow(self) -> None:
        if self._trace:
            self._trace.narrow()

    def _stamp(self, kind: str, elapsed_s: float) -> Object:
        return {
            "kind": kind, "at": round(time.time(), 2), "boot_s": round(time.clock_gettime(time.CLOCK_BOOTTIME), 2),
            "elapsed_s": round(elapsed_s, 2),
        }  # fmt: skip


def run(settings: Object) -> int:
    """Record until a signal, or until the time is over. Returns the exit status."""
    try:
        held = lock(settings["directory"])
    except BlockingIOError:
        return refuse(settings, f"another 'fstui record' writes to {settings['directory']}. Stop it first.")
    except OSError as error:
        return refuse(settings, f"{settings['directory']}: {error.strerror}")
    signals = {s for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(s) is not signal.SIG_IGN}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    os.set_inheritable(held, True)
    writer = Writer(settings["directory"], settings["max_bytes"])
    trace, untraced = None, "only root may trace the kernel"
    if settings["name"]:
        try:
            trace, untraced = Trace(PREFIX + settings["name"]), ""
        except (TracefsError, OSError) as problem:
            untraced = str(problem)
    try:
        say(f"recording into {settings['directory']}; Ctrl-C ends it")
        if untraced:
            say(f"no kernel trace, so who waits is not recorded: {untraced}")
        status = follow(Recorder(settings, writer, trace, untraced), signals, settings["seconds"])
    finally:
        entry = settings["entry"]
        try:
            if trace:
                trace.remove()
        except OSError as problem:
            say(f"the instance of the trace was not removed: {problem.strerror}; 'fstui clean' tries again")
            entry = None
        writer.close(entry)
    return status


def refuse(settings: Object, sentence: str) -> int:
    say(sentence)
    remove_entry(settings["entry"])
    return REFUSED


def follow(recorder: Recorder, signals: set[signal.Signals], seconds: float | None) -> int:
    due_s = began_s = time.monotonic()
    while seconds is None or time.monotonic() - began_s < seconds:
        due_s = max(due_s + SECOND, time.monotonic())
        first_s = recorder.first_s()
        if first_s < SECOND:
            if signal.sigtimedwait(signals, first_s):
                return 0
            recorder.narrow()
        if signal.sigtimedwait(signals, max(due_s - time.monotonic(), 0.0)):
            return 0
        if not recorder.second():
            say("the program that writes the records has ended")
            return 1
    return 0


def main() -> None:
    gc.disable()  # this program makes no reference cycles, and the collector would scan many tuples
    sys.exit(run(json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
