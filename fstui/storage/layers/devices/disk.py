"""Disks and their partitions: what a drive, or the host of a virtual one, says about itself.

From sysfs, and from udev where it runs: ``cache_type`` (the driver's; "temporary" never shows there),
``ID_ATA_WRITE_CACHE_ENABLED`` (udev's, when the drive was found), ``rpm``, ``form_factor``, ``zoned``, ``F_FLUSH`` and
``CONFIG_WCE`` (yes | no, virtio-blk), ``vmbus_id`` and ``lun`` (Hyper-V), ``card`` (MMC | SD), ``grade`` (consumer |
data centre | cloud | raid | array | virtual | hard disk, by the model table).

A card's flush is counted as any: the MMC driver takes it as a request, and ends it with the card's own cache flush
(CMD6, EXT_CSD FLUSH_CACHE) where the card has a cache that is on; "write back" also stands for one without a cache that
takes reliable writes, which is what FUA becomes (drivers/mmc/core/block.c, mmc.c).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.devices import disk_readings, drives, links, models, nvme
from fstui.storage.layers.devices.caches import volatile_cache
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.facts import Fact, number, one_of, word
from fstui.storage.layers.kinds import Kind
from fstui.storage.layers.readers import Device, DeviceReader, Role, some, with_readings
from fstui.storage.layers.sources.claims import Question
from fstui.storage.layers.sources.udev import DATABASE

_CARDS = {"MMC": "eMMC", "SD": "an SD card"}
_YES_NO = {"yes": True, "no": False}


class DiskFacts(NamedTuple):
    """What was read of one."""

    host_flushes: Fact[bool] | None
    """virtio F_FLUSH: the host offers the guest a flush."""
    host_cache: Fact[bool] | None
    """virtio CONFIG_WCE: the host lets the guest switch a write cache."""
    transport: Fact[str] | None
    """NVMe: pcie, tcp, rdma, fc, loop."""
    grade: Fact[str] | None
    """consumer, data centre, cloud, raid, array, virtual, hard disk, by the model table."""
    link_rate: Fact[str] | None
    payload_mb_s: Fact[int] | None
    """What the link can carry at the most."""
    bridge: Fact[str] | None
    """The USB bridge before the drive."""
    card: Fact[str] | None
    """What sits in the slot, or is soldered there."""


def facts(node: Node) -> DiskFacts:
    """What the readings of a disk say."""
    return DiskFacts(
        host_flushes=one_of(node, "F_FLUSH", _YES_NO),
        host_cache=one_of(node, "CONFIG_WCE", _YES_NO),
        transport=word(node, "transport"),
        grade=word(node, "grade"),
        link_rate=word(node, "link_rate"),
        payload_mb_s=number(node, "payload_mb_s"),
        bridge=word(node, "usb_bridge"),
        card=one_of(node, "card", _CARDS),
    )


def is_virtual(node: Node) -> bool:
    """A hypervisor made this disk: its rotational flag says nothing."""
    row = models.known(node.model)
    return link(node.link).virtual or (row is not None and row.grade == "virtual")


def is_attached_here(node: Node) -> bool:
    """A drive of this box with no host, bridge, controller or network between: what takes time there is its work."""
    row = models.known(node.model)
    controller = row is not None and row.grade in {"raid", "array"}
    between = controller or (node.medium is not None and node.medium.class_ in {"network", "raid-cache"})
    transport = word(node, "transport")
    fabric = transport is not None and transport.value in nvme.OF_ONES_OWN
    array = link(node.link).drives_state_form and not _is_a_drive(node)
    return link(node.link).direct and not (is_virtual(node) or between or fabric or array)


def _is_a_drive(node: Node) -> bool:
    """It states how large its case is; or the user says which drive it is."""
    return number(node, "form_factor") is not None or (node.medium is not None and node.medium.declared)


def writes(node: Node) -> models.Writes:
    """Where a hard disk puts what it is given, by its model: one of a name that nobody knows (a server's maker sells
    others' under his own) may be one that has a log."""
    row = models.known(node.model)
    if row is not None:
        return row.writes
    declared = node.medium is not None and node.medium.declared
    unknown = node.model and facts(node).grade is None and not declared
    return "log" if unknown else "in place"


def over_own_network(node: Node) -> bool:
    """It is reached over a fabric or a SAN of one's own, and not over a cloud's network."""
    transport = word(node, "transport")
    return link(node.link).of_ones_own or (transport is not None and transport.value in nvme.OF_ONES_OWN)


class DiskReader(DeviceReader):
    """Reads disks: whatever has no driver that is known by the names of its devices."""

    def read(self, name: str) -> Device:
        tree, directory = self.tree, f"/sys/block/{name}"
        path = links.path_of(tree, name)
        attached = links.link_of(path, name)
        number = (tree.word(f"{directory}/dev") or "") if self.sources.udev.present else ""
        properties, database = self.sources.udev.properties(number), f"{DATABASE}/b{number}"
        model = disk_readings.model(tree, directory) or properties.get("ID_MODEL", "").replace("_", " ") or None
        enabled = properties.get("ID_ATA_WRITE_CACHE_ENABLED")
        own = (
            disk_readings.cache_type(tree, directory, name),
            *(disk_readings.features(tree, directory) if name.startswith("vd") else ()),
            disk_readings.zoned(tree, directory),
            Reading(what="ID_ATA_WRITE_CACHE_ENABLED", value=enabled, path=database) if enabled else None,
            disk_readings.form_factor(tree, directory, name),
            disk_readings.rpm(tree, directory, name)
            or disk_readings.udev_rpm(properties.get("ID_ATA_ROTATION_RATE_RPM"), database),
            *links.readings(tree, path, attached),
            *(nvme.readings(tree, name) if attached == "nvme" else ()),
            tree.reading("card", f"{directory}/device/type") if attached == "mmc" else None,
            *disk_readings.on_vmbus(path, directory),
            _grade(model),
        )
        return Device(
            kind=_unknown_driver(name) if "/virtual/block/" in path else self.row.name,
            label=name,
            below=self.slaves(name),
            readings=(*self.queue(name), *some(own)),
            state=disk_readings.state(tree, directory),
            identity=disk_readings.identity(tree, directory) or properties.get("ID_SERIAL", ""),
            model=model,
            link=attached,
        )

    def asked(self, node: Node, roles: tuple[Role, ...]) -> tuple[Node, tuple[Role, ...]]:
        """With the drive's own word on its write cache."""
        return with_readings(node, drives.told(node, self.sources.claims)), roles


def _unknown_driver(name: str) -> str:
    """Return ``drbd`` for drbd0: a device that no hardware is behind, and that no other kind recognises."""
    return re.split(r"\d", name, maxsplit=1)[0] or name


def _grade(model: str | None) -> Reading | None:
    row = models.known(model)
    return Reading(what="grade", value=row.grade, path=f"model table: {row.source}") if row is not None else None


class Drive(Kind, frozen=True, kw_only=True):
    """The row of a lowest device with a write cache of its own."""

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        """By the kernel's view of its cache, and what the drive says of that."""
        if node.write_cache == "write back":
            return "passes", "write cache on" + (", no FUA" if node.fua is False else "")
        if node.write_cache != "write through":
            return "unknown", ""
        return self._written_through(node)

    def _written_through(self, node: Node) -> tuple[SyncPath, str]:
        if (cache := volatile_cache(node)) is not None and cache.value:
            return "stops", "the kernel was told write through, the drive says its write cache is on"
        if (offered := facts(node).host_flushes) is not None and not offered.value:
            return "unknown", "write through: the host offers no flush (virtio F_FLUSH), so the kernel sends none"
        return "unknown", "write through: the kernel sends no flush, the device states no volatile cache"

    def questions(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Question, ...]:
        return tuple(Question(command, root=True) for node in nodes for command in drives.commands(node))

    def keeps_each_write(self, node: Node) -> bool:
        """Earlier versions of fstui followed disks that a server of the same host provides to what the server stores
        them on. What that server does with a write is not known, so no saved run is judged by it."""
        return bool(node.below)


PARTITION = Kind(
    name="partition",
    layer="block",
    sync="passes",
    because="a partition of a disk passes everything on",
    adds_bytes=False,
    takes_part=True,
)
KINDS = (
    Drive(
        name="disk",
        layer="block",
        label="",
        device_names="",
        counts_flushes=True,
        adds_bytes=False,
        settings=("cache_type",),
    ),
    PARTITION,
    # its driver hangs on a bus of its own, and would pass for a disk
    Kind(name="pmem", layer="block", device_names="pmem", known=False, may_cache=True, accounting="own"),
)
DEVICES = DiskReader
