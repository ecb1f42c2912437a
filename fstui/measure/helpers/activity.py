"""Program: which processes write, and which databases run, again and again, from /proc. Writes nothing.

stdin: a JSON line: ``servers`` (names of programs → kinds), ``stubs`` (a pattern of libraries that leave syncs out),
``settings`` (those of a database that decide its durability); it ends when stdin closes. stdout: a JSON line per look,
the fields of fstui.model.activity.

What the memory of a process has to be locked for (cmdline, environ, maps: proc(5)), and what lies on its disk, is read
in a thread of its own, once: such a read can hang in the kernel, and then only this one database is not told of.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys
import threading
import time
from collections import defaultdict
from typing import Any

from fstui import proc
from fstui.measure.helpers import options

EVERY_S = 2.0
SHARE = 0.02
"""Of a processor, at the most: a large box is looked at less often."""
LEAST_BYTES_PER_S = 4096
MOST_WRITERS, MOST_FILES = 8, 512


def read(path: str) -> str:
    """Empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Mounts:
    """Which mount points of ours are the filesystem that a process calls by a mount id of its own (fdinfo, mnt_id)."""

    def __init__(self) -> None:
        self.ours: dict[str, list[str]] = defaultdict(list)
        for mount in proc.mounts():
            self.ours[mount.device].append(mount.mount_point)

    def of(self, pid: int, numbers: set[str]) -> list[str]:
        devices = {mount.device for mount in proc.mounts(pid) if str(mount.number) in numbers}
        return sorted(point for device in devices for point in self.ours[device])

    def holding(self, pid: int, path: str) -> list[str]:
        """Where that path of the process's lies."""
        points = ((mount.mount_point, mount.number) for mount in proc.mounts(pid))
        above = [(len(point), number) for point, number in points if f"{path}/".startswith(point.rstrip("/") + "/")]
        return self.of(pid, {str(max(above)[1])}) if above else []


def open_to_write(pid: int) -> set[str]:
    """Mount ids of the files that it may write to."""
    found: set[str] = set()
    try:
        numbers = os.listdir(f"/proc/{pid}/fdinfo")[:MOST_FILES]
    except OSError:
        return found
    for number in numbers:
        told = dict(line.split(":", 1) for line in read(f"/proc/{pid}/fdinfo/{number}").splitlines() if ":" in line)
        if "mnt_id" in told and int(told.get("flags", "0").strip() or "0", 8) & os.O_ACCMODE:
            found.add(told["mnt_id"].strip())
    return found


class Database:
    """What one server is told to do: looked up once, in a thread."""

    def __init__(self, pid: int, name: str, asked: dict[str, Any]) -> None:
        self.pid = pid
        self.told: dict[str, Any] = {"pid": pid, "name": name, "kind": asked["servers"][name], "readable": False}
        threading.Thread(target=self._look, args=(asked,), daemon=True).start()

    def _look(self, asked: dict[str, Any]) -> None:
        pid = self.pid
        words = read(f"/proc/{pid}/cmdline").rstrip("\0").split("\0")
        data = link(f"/proc/{pid}/cwd")
        root = f"/proc/{pid}/root"
        if not data:  # another user's
            return
        found = options.of(self.told["kind"], words, data, root)
        self.told |= {
            "readable": True,
            "data_directory": data,
            "mounts": Mounts().holding(pid, data),
            "variables": {name: value for name, value in found.items() if name in asked["settings"]},
            "preloads": stubs(pid, asked["stubs"]),
        }


def stubs(pid: int, pattern: str) -> list[str]:
    """Of the libraries in its memory, and of those that LD_PRELOAD names, the ones that leave syncs out."""
    mapped = (line.partition("/")[2].removesuffix(" (deleted)") for line in read(f"/proc/{pid}/maps").splitlines())
    named = re.search(r"(?:^|\0)LD_PRELOAD=([^\0]*)", read(f"/proc/{pid}/environ"))
    every = [*(f"/{path}" for path in mapped if path), *re.split("[ :]", named[1] if named else "")]
    matching = (path for path in every if re.search(pattern, path.rpartition("/")[2], re.IGNORECASE))
    return list(dict.fromkeys(matching))


class Look:
    """From one look to the next."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.before: dict[int, int] = {}
        self.at_s = time.monotonic()
        self.databases: dict[int, Database] = {}

    def again(self) -> dict[str, Any]:
        now, elapsed_s = {}, max(time.monotonic() - self.at_s, 1e-3)
        self.at_s += elapsed_s
        hidden = False
        names = {pid: read(f"/proc/{pid}/comm").rstrip("\n") for pid in proc.pids()}
        for pid in names:
            count = proc.written_bytes(pid)
            hidden = hidden or count is None
            if count is not None:
                now[pid] = count
        rates = {pid: (count - self.before.get(pid, count)) / elapsed_s for pid, count in now.items()}
        busiest = sorted((pid for pid in rates if rates[pid] >= LEAST_BYTES_PER_S), key=lambda pid: -rates[pid])
        self.before = now
        mounts = Mounts() if busiest else None
        writers = [
            {
                "pid": pid,
                "name": names[pid],
                "bytes_per_s": round(rates[pid]),
                "mounts": mounts.of(pid, open_to_write(pid)),
            }
            for pid in busiest[:MOST_WRITERS]
            if mounts and pid != os.getppid()
        ]
        return {"writers": writers, "databases": self.servers(names), "hidden": hidden and os.geteuid() != 0}

    def servers(self, names: dict[int, str]) -> list[dict[str, Any]]:
        """The first process of each; those that it has started are parts of it."""
        serving = {pid for pid, name in names.items() if name in self.asked["servers"]}
        first = {pid for pid in serving if parent(pid) not in serving}
        self.databases = {
            pid: self.databases.get(pid) or Database(pid, names[pid], self.asked) for pid in sorted(first)
        }
        return [found.told for found in self.databases.values()]


def parent(pid: int) -> int:
    found = proc.stat(pid)
    return found.parent if found else 0


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # fstui closes our stdin
    look = Look(json.loads(sys.stdin.readline() or "{}"))
    pause_s = 0.0
    while not select.select([0], [], [], pause_s)[0]:
        began = time.monotonic()
        line = json.dumps(look.again()).encode() + b"\n"
        try:
            while line:
                line = line[os.write(1, line) :]
        except BrokenPipeError:
            break
        pause_s = max(EVERY_S, (time.monotonic() - began) / SHARE)
    os._exit(0)  # a thread that reads of a stuck process would keep us


if __name__ == "__main__":
    main()
