"""A builder of made-up /proc and /sys trees in the kernel's own formats."""

import itertools
import os
from pathlib import Path
from typing import Any

STAT = "100 1 800 10 200 2 4000 40 3 50 60 7 0 56 1 20 9"
"""Reads: number, merges, sectors, ms; the same of writes; in flight, busy ms, queued ms; the same of discards; flushes:
number, ms."""


def vpd_page_b1(rate: int) -> bytes:
    """Return the VPD page of block device characteristics of a SCSI disk with this rotation rate (SBC)."""
    return bytes([0, 0xB1, 0, 0x3C]) + rate.to_bytes(2, "big") + bytes(58)


class Box:
    """A made-up host. Each method writes the files that the kernel would show for one device, mount or setting."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines: list[bytes] = []
        self._mounted: list[tuple[int, bytes]] = []
        self._minors = itertools.count(0)
        self._numbers = itertools.count(30)
        self.number_of: dict[str, str] = {}
        self._home: dict[str, str] = {}

    def write(self, path: str, content: str | bytes = "") -> None:
        target = f"{self.root}{path}"
        os.makedirs(os.path.dirname(target), exist_ok=True)
        data = content if isinstance(content, bytes) else (content + "\n").encode()
        Path(target).write_bytes(data)

    def link(self, path: str, target: str) -> None:
        os.makedirs(os.path.dirname(f"{self.root}{path}"), exist_ok=True)
        os.symlink(target, f"{self.root}{path}")

    def mount(
        self,
        source: str,
        mount_point: str | bytes,
        fstype: str,
        *,
        device: str | None = None,
        options: str = "rw,relatime",
        super_options: str | bytes = "rw",
        root: str = "/",
    ) -> None:
        """Add a line to mountinfo. Its parent is the newest mount that contains the mount point, as with mount(2).

        The device number of a source such as /dev/sda1 follows from its name.
        """
        number = next(self._numbers)
        device = device or self.number_of.get(source.rpartition("/")[2], f"0:{number}")
        place = mount_point.encode() if isinstance(mount_point, str) else mount_point
        holders = [number for number, held in self._mounted if held == b"/" or (place + b"/").startswith(held + b"/")]
        parent = max(holders, key=lambda holder: (len(dict(self._mounted)[holder]), holder), default=1)
        self._mounted.append((number, place))
        last = super_options.encode() if isinstance(super_options, str) else super_options
        self._lines.append(
            f"{number} {parent} {device} {root} ".encode()
            + place
            + f" {options} shared:{number} - {fstype} {source} ".encode()
            + last
        )
        self.write("/proc/self/mountinfo", b"\n".join(self._lines) + b"\n")

    def device(
        self,
        name: str,
        home: str = "virtual",
        *,
        write_cache: str = "write back",
        rotational: int = 0,
        fua: int = 0,
        iostats: int = 1,
        stat: str = STAT,
        request_based: bool = False,
        slaves: tuple[str, ...] = (),
        sectors: int = 2097152,
    ) -> str:
        """Add a whole block device and return its directory in /sys."""
        path = f"/sys/devices/{home}/block/{name}"
        number = self._register(name, path)
        self.link(f"/sys/block/{name}", f"..{path.removeprefix('/sys')}")
        for file, content in (
            ("dev", number), ("size", str(sectors)), ("stat", stat), ("ro", "0"), ("queue/write_cache", write_cache),
            ("queue/fua", str(fua)), ("queue/rotational", str(rotational)), ("queue/iostats", str(iostats)),
        ):  # fmt: skip
            self.write(f"{path}/{file}", content)
        if request_based:
            self.write(f"{path}/mq/0/nr_tags", "64")
        for slave in slaves:
            self.link(f"{path}/slaves/{slave}", f"../../{slave}")
        return path

    def disk(
        self,
        name: str,
        home: str = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0",
        *,
        files: dict[str, str | bytes] | None = None,
        **device: Any,
    ) -> str:
        """Add a whole disk with a request queue; ``files`` are relative to its directory, such as ``device/model``."""
        path = self.device(name, home, request_based=True, **device)
        for file, content in (files or {}).items():
            self.write(f"{path}/{file}", content)
        return path

    def disks(self, *names: str) -> tuple[str, ...]:
        for name in names:
            self.disk(name)
        return tuple(self.number_of[name] for name in names)

    def partition(self, disk: str, number: int, stat: str = STAT) -> str:
        name = f"{disk}p{number}" if disk[-1].isdigit() else f"{disk}{number}"
        path = f"{self._home[disk]}/{name}"
        self.write(f"{path}/dev", self._register(name, path))
        self.write(f"{path}/partition", str(number))
        self.write(f"{path}/size", "1048576")
        self.write(f"{path}/stat", stat)
        return name

    def loop(self, name: str, file: str, *, dio: int = 0, write_cache: str = "write back", ro: int = 0) -> str:
        path = self.device(name, request_based=True, write_cache=write_cache)
        self.write(f"{path}/loop/backing_file", file)
        self.write(f"{path}/loop/dio", str(dio))
        self.write(f"{path}/loop/offset", "0")
        self.write(f"{path}/ro", str(ro))
        return path

    def dm(self, name: str, label: str, uuid: str, slaves: tuple[str, ...], *, write_cache: str = "write back") -> str:
        path = self.device(name, slaves=slaves, write_cache=write_cache)
        self.write(f"{path}/dm/name", label)
        self.write(f"{path}/dm/uuid", uuid)
        self.write(f"{path}/dm/suspended", "0")
        self.link(f"/dev/mapper/{label}", f"../{name}")
        return path

    def md(self, name: str, level: str, slaves: tuple[str, ...], **files: str) -> str:
        path = self.device(name, slaves=slaves)
        state = {"degraded": "0", "sync_action": "idle", "array_state": "clean", "raid_disks": str(len(slaves))}
        for file, content in {"level": level, **state, **files}.items():
            self.write(f"{path}/md/{file}", content)
        return path

    def ext4(self, device: str, options: str, *, journal: bool = True, errors: int = 0) -> None:
        """Write what the kernel shows for a mounted ext4; ``options`` are separated by blanks."""
        self.write(f"/proc/fs/ext4/{device}/options", options.replace(" ", "\n"))
        self.write(f"/sys/fs/ext4/{device}/errors_count", str(errors))
        self.write(f"/sys/fs/ext4/{device}/journal_task", "412" if journal else "<none>")
        if journal:
            self.write(f"/proc/fs/jbd2/{device}-8/info", "12 transactions")

    def dmi(self, **files: str) -> None:
        for name, value in files.items():
            self.write(f"/sys/class/dmi/id/{name}", value)

    def _register(self, name: str, path: str) -> str:
        number = f"8:{next(self._minors)}"
        self.number_of[name] = number
        self._home[name] = path
        self.link(f"/sys/class/block/{name}", f"../..{path.removeprefix('/sys')}")
        self.link(f"/sys/dev/block/{number}", f"../..{path.removeprefix('/sys')}")
        return number
