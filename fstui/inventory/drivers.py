"""What is special about each kind of block device that stands on others: loop, dm, md, bcache, NVMe multipath."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fstui.inventory import bcache, dm, md
from fstui.inventory.files import Tree
from fstui.inventory.media import MEMORY_KINDS, claims_cache
from fstui.model import Reading, SyncPath

_BY_NAME = (
    ("loop", "loop"), ("zram", "zram"), ("ram", "ram"), ("bcache", "bcache"), ("nbd", "nbd"), ("rbd", "rbd"),
    ("drbd", "drbd"), ("pmem", "pmem"), ("zd", "zvol"), ("dm-", "dm"), ("md", "md"),
)  # fmt: skip
_REQUEST_BASED = frozenset({"disk", "loop", "nbd", "rbd"})
_SYNC: Mapping[str, tuple[SyncPath, str]] = {
    **dict.fromkeys(MEMORY_KINDS, ("stops", "kept in memory")),
    **dict.fromkeys(("dm", "zvol"), ("unknown", "what it does with a flush is not told here")),
    "bcache": ("passes", "a flush commits the cache's journal and goes to the backing device"),
    "nvme-multipath": ("passes", "a flush takes one of the paths"),
    "dm-multipath": ("passes", "a flush takes one of the paths"),
    "dm-crypt": ("passes", "encrypts, and passes a flush on"),
    "dm-cache": ("passes", "a flush commits the cache's metadata and goes below"),
    "dm-writecache": ("passes", "a flush makes the cache device durable; the origin is written later"),
    "dm-thin": ("passes", "a flush commits the pool's metadata and goes below"),
    "dm-thin-pool": ("passes", "a flush commits the pool's metadata and goes below"),
    "dm-error": ("stops", "every request fails here"),
    "dm-zero": ("stops", "what is written is thrown away"),
}
"""Documentation/admin-guide/device-mapper and bcache; the other dm targets hand a flush to each device below."""


class Driver(NamedTuple):
    """One device as its driver tells it."""

    kind: str
    label: str
    below: tuple[str, ...] = ()
    """Kernel names of what it stands on, from slaves/."""
    readings: tuple[Reading, ...] = ()
    state: tuple[Reading, ...] = ()
    identity: str = ""
    roles: tuple[tuple[str, Reading], ...] = ()
    """(kernel name of a device below, its ``role``)."""


def kind_of(name: str) -> str:
    """The kind that a kernel name tells: ``disk`` where it is none of the others."""
    return next((kind for start, kind in _BY_NAME if name.startswith(start)), "disk")


def counts_flushes(kind: str) -> bool:
    """Only blk-flush counts flushes, and only request-based drivers go through it; the others hand bios on."""
    return kind in _REQUEST_BASED


def driver_of(tree: Tree, name: str) -> Driver:
    """The driver's own facts about the device of that kernel name. What is below a loop is in ``backing_file``."""
    directory = f"/sys/block/{name}"
    kind = kind_of(name)
    if kind == "loop":
        return _loop(tree, directory, name)
    slaves = tree.names(f"{directory}/slaves")
    if kind == "dm":
        return _dm(tree, directory, name, slaves)
    if kind == "md":
        return Driver(
            kind=kind,
            label=name,
            below=slaves,
            readings=md.readings(tree, directory),
            state=md.trouble(tree, directory, slaves),
            identity=tree.word(f"{directory}/md/uuid") or "",
            roles=tuple(md.roles(tree, directory, slaves)),
        )
    if kind == "bcache":
        return Driver(
            kind=kind,
            label=name,
            below=slaves,
            readings=bcache.readings(tree, directory),
            identity=tree.word(f"{directory}/bcache/backing_dev_uuid") or "",
            roles=tuple(bcache.roles(tree, slaves)),
        )
    return Driver(kind, name, slaves)


def sync_of(kind: str, readings: tuple[Reading, ...]) -> tuple[SyncPath, str]:
    """What becomes of a flush here, by what this device alone says, and why."""
    values = {reading.what: reading.value for reading in readings}
    if kind in _SYNC:
        return _SYNC[kind]
    if kind == "loop":
        direct = "" if values.get("dio") == "1" else "; direct-io is off: O_DIRECT above ends in the page cache"
        return "passes", f"a flush becomes an fsync of the backing file{direct}"
    if kind == "md":
        return md.sync_of(values)
    return _sync_of_disk(values, readings) if kind in _REQUEST_BASED else ("passes", "would pass it on")


def _sync_of_disk(values: Mapping[str, str], readings: tuple[Reading, ...]) -> tuple[SyncPath, str]:
    cache = values.get("write_cache")
    if cache == "write back":
        return "passes", "write cache on" + (", no FUA" if values.get("fua") == "0" else "")
    if cache != "write through":
        return "unknown", ""
    if claims_cache(readings):
        return "stops", "the kernel was told write through, the drive says its write cache is on"
    if values.get("F_FLUSH") == "no":
        return "unknown", "write through: the host offers no flush (virtio F_FLUSH), so the kernel sends none"
    return "unknown", "write through: the kernel sends no flush, the device states no volatile cache"


def _loop(tree: Tree, directory: str, name: str) -> Driver:
    path = f"{directory}/loop/backing_file"
    file = tree.text(path)
    backing = Reading(what="backing_file", value=file, path=path) if file else None
    read_only = tree.reading("ro", f"{directory}/ro")
    found = (
        backing,
        tree.reading("dio", f"{directory}/loop/dio"),
        tree.reading("offset", f"{directory}/loop/offset"),
        # a read-only loop says write through, whatever is below: nobody writes
        read_only if read_only and read_only.value == "1" else None,
    )
    readings = tuple(reading for reading in found if reading is not None)
    return Driver("loop", name, (), readings, identity=f"file {file}")


def _dm(tree: Tree, directory: str, name: str, slaves: tuple[str, ...]) -> Driver:
    path = f"{directory}/dm/uuid"
    uuid = tree.word(path) or ""
    label = tree.word(f"{directory}/dm/name") or name
    names = {slave: tree.word(f"/sys/block/{slave}/dm/name") or "" for slave in slaves}
    kind = dm.kind(uuid, names.values())
    suspended = tree.reading("suspended", f"{directory}/dm/suspended")
    roles = ((slave, dm.role(kind, name), f"/sys/block/{slave}/dm/name") for slave, name in names.items())
    return Driver(
        kind=kind,
        label=dm.lvm_name(label) if uuid.startswith("LVM-") else label,
        below=slaves,
        readings=(Reading(what="target", value=kind.removeprefix("dm-"), path=path),) if kind != "dm" else (),
        state=(suspended,) if suspended is not None and suspended.value == "1" else (),
        identity=uuid,
        roles=tuple((slave, Reading(what="role", value=role, path=path)) for slave, role, path in roles if role),
    )
