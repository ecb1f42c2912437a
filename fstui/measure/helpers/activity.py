"""Program: report regularly which processes write, and which database servers run.

stdin: a line of JSON: ``servers`` (command name → kind), ``settings`` (names of options that decide a server's
durability). The program ends when stdin closes. stdout: a line of JSON for each sample, with the fields of
fstui.model.activity.

Reads of cmdline, environ and maps may hang in the kernel, because they take the server's mmap lock (proc(5)). So a
separate thread reads these files, once for each server.
"""

import json
import os
import select
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from fstui import proc
from fstui.measure.wire.stdio import ignore_signals, say

SAMPLE_INTERVAL_S = 2.0
SAMPLING_SHARE = 0.02
"""Maximum share of the time to spend on samples. With many processes each sample takes longer, so there are fewer."""
MIN_BYTES_PER_S = 4096
"""A process that writes less is not reported."""
MAX_WRITERS, MAX_FILES_PER_PROCESS = 8, 512


class Mounts:
    """This process's mount points by device, to translate the mounts of other mount namespaces."""

    def __init__(self) -> None:
        self.points: dict[str, list[str]] = defaultdict(list)
        for mount in proc.mounts():
            self.points[mount.device].append(mount.mount_point)

    def find(self, pid: int, mount_ids: set[int]) -> list[str]:
        """Return this process's mount points for these mount IDs of another process."""
        devices = {mount.device for mount in proc.mounts(pid) if mount.number in mount_ids}
        return sorted(point for device in devices for point in self.points[device])

    def find_containing(self, pid: int, path: str) -> list[str]:
        """Return this process's mount points for the mount that contains a path of another process."""
        points = ((mount.mount_point.rstrip("/"), mount.number) for mount in proc.mounts(pid))
        containing = [(len(point), number) for point, number in points if f"{path}/".startswith(f"{point}/")]
        if not containing:
            return []
        _, deepest = max(containing)
        return self.find(pid, {deepest})


def mounts_written_to(pid: int) -> set[int]:
    """Return the IDs of the mounts on which a process has files open for writing."""
    try:
        files = os.listdir(f"/proc/{pid}/fdinfo")[:MAX_FILES_PER_PROCESS]
    except OSError:
        return set()
    return {mount_id for file in files if (mount_id := proc.mount_id(file, pid, writable=True)) is not None}


class ServerReader:
    def __init__(self, pid: int, name: str, request: dict[str, Any]) -> None:
        self.pid = pid
        self.fields: dict[str, Any] = {"pid": pid, "name": name, "kind": request["servers"][name], "readable": False}
        threading.Thread(target=self._read, args=(request,), daemon=True).start()

    def _read(self, request: dict[str, Any]) -> None:
        pid = self.pid
        words = proc.read_text(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")
        try:
            data_directory = os.readlink(f"/proc/{pid}/cwd")  # a database server works in its data directory
        except OSError:  # the server belongs to another user
            return
        libraries = [
            *proc.mapped_files(proc.read_text(f"/proc/{pid}/maps")),
            *proc.preloaded_libraries(proc.read_text(f"/proc/{pid}/environ")),
        ]
        self.fields |= {
            "readable": True,
            "data_directory": data_directory,
            "mounts": Mounts().find_containing(pid, data_directory),
            "variables": {name: value for name, value in options(words) if name in request["settings"]},
            "preloads": list(dict.fromkeys(filter(proc.stubs_syncs, libraries))),
        }


def options(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each ``--name=value`` and ``-c name=value`` of a server. The value of ``--name`` is ON.

    Names use underscores. As in the servers, the last value of an option wins. Option files are not read.
    """
    for before, word in pairwise(argv):
        name, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") or before == "-c":
            yield name.lower().replace("-", "_").removeprefix("loose_"), value if equals else "ON"
        elif word == "-F":  # PostgreSQL: short for fsync=off
            yield "fsync", "off"


class ActivitySampler:
    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.written_before: dict[int, int] = {}
        self.sampled_s = time.monotonic()
        self.readers: dict[int, ServerReader] = {}

    def sample(self) -> dict[str, Any]:
        written, elapsed_s = {}, max(time.monotonic() - self.sampled_s, 1e-3)
        self.sampled_s += elapsed_s
        hidden = False
        names = {pid: proc.read_text(f"/proc/{pid}/comm").rstrip("\n") for pid in proc.pids()}
        for pid in names:
            count = proc.written_bytes(pid)
            hidden = hidden or count is None  # the process belongs to another user, or has ended
            if count is not None:
                written[pid] = count
        # a new process has no rate yet
        rates = {pid: (count - self.written_before.get(pid, count)) / elapsed_s for pid, count in written.items()}
        busiest = sorted((pid for pid in rates if rates[pid] >= MIN_BYTES_PER_S), key=lambda pid: -rates[pid])
        self.written_before = written
        mounts = Mounts() if busiest else None
        writers = [
            {
                "pid": pid,
                "name": names[pid],
                "bytes_per_s": round(rates[pid]),
                "mounts": mounts.find(pid, mounts_written_to(pid)),
            }
            for pid in busiest[:MAX_WRITERS]
            if mounts and pid != os.getppid()
        ]
        return {"writers": writers, "databases": self.servers(names), "hidden": hidden and os.geteuid() != 0}

    def servers(self, names: dict[int, str]) -> list[dict[str, Any]]:
        """Return the fields of each server. Child processes with a server's name belong to that server."""
        server_pids = {pid for pid, name in names.items() if name in self.request["servers"]}
        parents = {pid: stat.parent for pid in server_pids if (stat := proc.stat(pid))}
        main_pids = sorted(pid for pid in server_pids if parents.get(pid) not in server_pids)
        self.readers = {pid: self.readers.get(pid) or ServerReader(pid, names[pid], self.request) for pid in main_pids}
        return [reader.fields for reader in self.readers.values()]


def main() -> None:
    ignore_signals()
    sampler = ActivitySampler(json.loads(sys.stdin.readline() or "{}"))
    pause_s = 0.0
    while not select.select([0], [], [], pause_s)[0]:
        start_s = time.monotonic()
        try:
            say(**sampler.sample())
        except BrokenPipeError:
            break
        pause_s = max(SAMPLE_INTERVAL_S, (time.monotonic() - start_s) / SAMPLING_SHARE)
    os._exit(0)  # sys.exit would wait for a thread that is stuck


if __name__ == "__main__":
    main()
