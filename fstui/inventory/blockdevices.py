"""Block devices as layers of a stack, each read once, from /sys/class/block (Documentation/ABI/stable/sysfs-block)."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

from fstui.inventory import claims, disks, dm_tables, nvme
from fstui.inventory.claims import UNASKED, Claims
from fstui.inventory.drivers import Driver, counts_flushes, driver_of, sync_of
from fstui.inventory.files import Tree, integer
from fstui.inventory.udev import Udev
from fstui.model import Node, Reading

SECTOR_BYTES = 512
FLUSH_FIELDS = 17
"""Fields of ``stat`` from Linux 5.5 on: the last two are flushes completed and milliseconds flushing."""
_DELETED = " (deleted)"
_PARTITION = re.compile(r"(?<=\d)p\d+$|(?<=\D)\d+$")
_SETTINGS = frozenset({"write_cache", "cache_type", "dio", "cache_mode", "level", "journal_mode"})


class Device(NamedTuple):
    """A block device: its node, and what tells it from others of its kind (serial, wwid, uuid, cache settings)."""

    node: Node
    identity: str
    roles: tuple[tuple[str, Reading], ...] = ()
    """(kernel name of a device below, its ``role``)."""


class BlockDevices:
    """The block devices under one root. Each is read once; make a new one for a new survey."""

    def __init__(self, tree: Tree, udev: Udev, found: Claims = UNASKED) -> None:
        self._tree = tree
        self._udev = udev
        self._claims = found
        self._tables = dm_tables.read(found)
        self._devices: dict[str, Device] = {}
        self._by_number: dict[str, str | None] = {}
        self.wholes = frozenset(tree.names("/sys/block"))
        """Whole devices, by kernel name."""
        self.names = self.wholes.union(tree.names("/sys/class/block"))
        """Whole devices and partitions."""
        self._nvme_paths = nvme.paths(self.wholes)

    def name_of(self, number: str) -> str | None:
        """The kernel name of the device ``major:minor``, or None."""
        if number not in self._by_number:
            link = self._tree.link(f"/sys/dev/block/{number}")
            self._by_number[number] = link.rpartition("/")[2] if link else None
        return self._by_number[number]

    def name_at(self, path: str) -> str | None:
        """The kernel name of the device at ``/dev/…``, its symbolic links followed under the root, or None."""
        for _ in range(8):
            if not path.startswith("/dev/"):
                return None
            name = path.removeprefix("/dev/").replace("/", "!")
            if name in self.names:
                return name
            link = self._tree.link(path)
            if link is None:
                return None
            path = link if link.startswith("/") else _joined(path, link)
        return None

    def whole(self, name: str) -> str:
        """The disk that a partition is part of; the name itself for a whole device."""
        if name in self.wholes:
            return name
        link = self._tree.link(f"/sys/class/block/{name}") or ""
        parts = link.split("/")
        return parts[-2] if len(parts) > 1 and parts[-2] in self.wholes else _PARTITION.sub("", name)

    def device(self, name: str) -> Device:
        """The device of that kernel name. ``below`` holds kernel names, or ``file:…`` for a loop's backing file."""
        if name not in self._devices:
            whole = self.whole(name)
            self._devices[name] = self._whole(name) if whole == name else self._partition(name, whole)
        return self._devices[name]

    def _whole(self, name: str) -> Device:
        tree, directory = self._tree, f"/sys/block/{name}"
        driver = self._driver(name)
        queue = {what: tree.reading(what, f"{directory}/queue/{what}") for what in ("write_cache", "fua", "rotational")}
        iostats = tree.reading("iostats", f"{directory}/queue/iostats")
        shape = disks.shape_of(tree, self._udev, name) if driver.kind == "disk" else disks.NO_SHAPE
        found = (*driver.readings, *queue.values(), iostats, *shape.readings)
        readings = tuple(reading for reading in found if reading is not None)
        node = Node(
            id=name,
            layer="block",
            kind=driver.kind,
            name=driver.label,
            below=driver.below,
            model=shape.model,
            link=shape.link,
            rotational=_flag(queue["rotational"]),
            write_cache=_write_cache(queue["write_cache"]),
            fua=_flag(queue["fua"]),
            counted=counts_flushes(driver.kind) and _flag(iostats) is True and self._counts_flushes(directory),
            state=driver.state + shape.state,
            readings=readings,
            size_bytes=self._size(directory),
        )
        settings = [f"{reading.what}={reading.value}" for reading in readings if reading.what in _SETTINGS]
        known = driver.identity or shape.identity or f"{name} {node.size_bytes}"
        # only what everybody may read: whether root was asked must not make another device of it
        identity = " ".join([driver.kind, known, *settings])
        node, roles = self._claimed(node, driver)
        sync, because = sync_of(node.kind, node.readings)
        return Device(msgspec.structs.replace(node, sync=sync, because=because), identity, roles)

    def _claimed(self, node: Node, driver: Driver) -> tuple[Node, tuple[tuple[str, Reading], ...]]:
        """The same with what only tools can tell."""
        told = claims.of_drive(node, self._claims)
        if not node.id.startswith("dm-"):
            return (msgspec.structs.replace(node, readings=node.readings + told) if told else node), driver.roles
        table = self._tables.get(self._tree.word(f"/sys/block/{node.id}/dm/name") or "")
        if table is None:
            missing = claims.missing_table(self._claims)
            told = (missing,) if missing is not None else ()
            return msgspec.structs.replace(node, readings=node.readings + told), driver.roles
        rest = tuple(reading for reading in node.readings if reading.what != "target")
        changed = msgspec.structs.replace(node, kind=table.kind, readings=table.readings + rest)
        return changed, dm_tables.named_roles(table, self.name_of)

    def _driver(self, name: str) -> Driver:
        paths = self._nvme_paths.get(name, ())
        if paths:
            role = Reading(what="role", value="path", path=f"/sys/block/{name}")
            return Driver(
                kind="nvme-multipath",
                label=name,
                below=paths,
                readings=nvme.of_head(self._tree, name),
                identity=self._tree.word(f"/sys/block/{name}/wwid") or "",
                roles=tuple((path, role) for path in paths),
            )
        driver = driver_of(self._tree, name)
        if driver.kind != "loop":
            return driver
        backing = (reading.value for reading in driver.readings if reading.what == "backing_file")
        return driver._replace(below=tuple(map(self._backing, backing)))

    def _backing(self, file: str) -> str:
        return self.name_at(file) or f"file:{file.removesuffix(_DELETED)}"

    def _partition(self, name: str, whole: str) -> Device:
        directory = f"/sys/class/block/{name}"
        iostats = self._tree.reading("iostats", f"/sys/block/{whole}/queue/iostats")
        node = Node(
            id=name,
            layer="block",
            kind="partition",
            name=name,
            below=(whole,),
            sync="passes",
            because="a partition of a disk passes everything on",
            readings=(iostats,) if iostats is not None else (),
            size_bytes=self._size(directory),
        )
        return Device(node, f"partition {self._tree.word(f'{directory}/partition') or name}")

    def _counts_flushes(self, directory: str) -> bool:
        """The driver is request-based (it has hardware queues in mq/), and the kernel new enough."""
        stat = self._tree.data(f"{directory}/stat") or b""
        return len(stat.split()) >= FLUSH_FIELDS and self._tree.exists(f"{directory}/mq")

    def _size(self, directory: str) -> int | None:
        sectors = self._tree.integer(f"{directory}/size")
        return None if sectors is None else sectors * SECTOR_BYTES


def _flag(reading: Reading | None) -> bool | None:
    number = integer(reading.value) if reading is not None else None
    return None if number is None else bool(number)


def _write_cache(reading: Reading | None) -> Literal["write back", "write through"] | None:
    if reading is None:
        return None
    if reading.value == "write back":
        return "write back"
    return "write through" if reading.value == "write through" else None


def _joined(path: str, link: str) -> str:
    parts = path.split("/")[:-1]
    for part in link.split("/"):
        if part == "..":
            parts = parts[:-1] or [""]
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
