"""Disks of this very box's own SCSI target (LIO), looped back or over iSCSI, and what their stores keep the data on.

Which store it is: a loopback port's ``address`` (``host:0:port``) and unit; of an iSCSI session that leads to one of
this box's own addresses, the disk's id, which the target makes of the store's serial number (drivers/target:
loopback/tcm_loop.c; target_core_spc.c, spc_gen_naa_6h_vendor_specific). What it lies on: its ``info`` names a device by
its number, or a file by its path, which is followed where a file of the disk's size lies there.

A file that was opened with O_DSYNC takes each write for good before it is answered; one that is buffered, and a device,
hand on flushes and writes marked FUA (target_core_file.c, target_core_iblock.c): but to a device without FUA they come
as plain ones, although the disk says that it takes FUA (iblock_execute_rw; Linux 6.12: 0 flushes for 50). Readings of
the disk: ``store`` (a block device, or by its ``info`` how its file was opened), ``store_file``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from fstui.model.storage import Node, Reading
from fstui.storage.layers.facts import word
from fstui.storage.layers.readers import Sources
from fstui.storage.layers.sources import addresses, claims
from fstui.storage.layers.sources.files import Tree
from fstui.storage.layers.stacked.loop import file_layer
from fstui.storage.layers.targets.held_files import Behind, in_memory

_TARGET = "/sys/kernel/config/target"
_UNIT = re.compile(r"/tcm_loop_\d+/.*/(\d+:0:\d+):(\d+)/block/")
_SESSION = re.compile(r"(.*/session\d+)/")
_FILE = re.compile(r"File: (.+?)\s+Size: \d+\s+Mode: (\S+)")
_DEVICE = re.compile(r"iBlock device: .*Major: (\d+)\s+Minor: (\d+)", re.DOTALL)
_IN_MEMORY = "rd_mcp_"
"""How the kernel's RAM disk calls its stores."""
_ID_BEGINS, _ID_LENGTH = "naa.6001405", len("naa.") + 32
"""An IEEE id of LIO's own company number; the digits of the serial number fill it up."""
EACH_WRITE = "O_DSYNC"
_DEVICE_STORE = "a block device"


def size_at(path: str) -> claims.Command:
    """The size in bytes of what lies at a path."""
    return ("stat", "--dereference", "--format=%s", "--", path)


def each_write_kept(node: Node) -> bool:
    """The target makes each write durable before it answers: no flush is owed above, whatever cache is below."""
    told = word(node, "store")
    return told is not None and told.value == EACH_WRITE


def is_device_store(node: Node) -> Reading | None:
    """Where it stands that the target hands its writes on to a block device; None where it does not."""
    told = word(node, "store")
    return told.reading if told is not None and told.value == _DEVICE_STORE else None


def store_file(node: Node) -> str | None:
    """The file that the target named, followed or not."""
    told = word(node, "store_file")
    return told.value if told is not None else None


class ScsiTarget:
    """What the target has set up, as it is in one survey: its ports and stores are read once for all disks."""

    def __init__(self, sources: Sources) -> None:
        self._sources, self._tree = sources, sources.tree

    def behind(self, name: str, path: str) -> Behind:
        """What that disk stands on; nothing of one that is none of this target's. ``path``: where it hangs in
        /sys/devices."""
        home = self._looped_back(path) or self._over_iscsi(name, path)
        return _of_store(self._sources, name, home) if home is not None else Behind()

    def _looped_back(self, path: str) -> str | None:
        unit = _UNIT.search(path)
        port = self._ports.get(unit[1]) if unit else None
        if unit is None or port is None:
            return None
        lun = f"{port}/lun/lun_{unit[2]}"
        links = (self._tree.link(f"{lun}/{entry}") or "" for entry in self._tree.names(lun))
        return next((f"{_TARGET}/core/{link.partition('/core/')[2]}" for link in links if "/core/" in link), None)

    def _over_iscsi(self, name: str, path: str) -> str | None:
        """The store of that id, where the session's connections all lead to this box."""
        own_id = self._tree.word(f"/sys/block/{name}/device/wwid") or ""
        ours = own_id.startswith(_ID_BEGINS) and own_session(self._tree, path) is not None
        return self._stores.get(own_id) if ours else None

    @cached_property
    def _ports(self) -> Mapping[str, str]:
        """The loopback's, by their address."""
        return {self._tree.word(f"{port}/address") or "": port for port in self._entries(f"{_TARGET}/loopback")}

    @cached_property
    def _stores(self) -> Mapping[str, str]:
        """By the id that their disk has."""
        stores = self._entries(f"{_TARGET}/core")
        return {_id(self._tree.text(f"{store}/wwn/vpd_unit_serial") or ""): store for store in stores}

    def _entries(self, home: str) -> Iterator[str]:
        """What lies there two levels down."""
        tree = self._tree
        return (f"{home}/{name}/{each}" for name in tree.names(home) for each in tree.names(f"{home}/{name}"))


def own_session(tree: Tree, path: str) -> str | None:
    """The iSCSI session through which a disk that hangs there in /sys/devices is reached, where it leads to this box
    alone."""
    session = _SESSION.match(path)
    return session[1] if session is not None and _leads_here(tree, session[1]) else None


def _leads_here(tree: Tree, session: str) -> bool:
    found = [name for name in tree.names(session) if name.startswith("connection")]
    words = [tree.word(f"{session}/{name}/iscsi_connection/{name}/address") for name in found]
    return bool(words) and all(address is not None and addresses.is_own(tree, address) for address in words)


def _id(told: str) -> str:
    """``T10 VPD Unit Serial Number: 7a0b1c2d-…`` as an id."""
    digits = re.sub(r"[^0-9a-f]", "", told.rpartition(":")[2].lower())
    return f"{_ID_BEGINS}{digits}"[:_ID_LENGTH] if digits else ""


def _of_store(sources: Sources, name: str, home: str) -> Behind:
    driver, store = home.split("/")[-2:]
    if driver.startswith(_IN_MEMORY):
        return in_memory(f"memory:{driver}/{store}")
    info = sources.tree.text(f"{home}/info") or ""
    if number := _DEVICE.search(info):
        device = sources.names.of(f"{number[1]}:{number[2]}")
        readings = (Reading(what="store", value=_DEVICE_STORE, path=f"{home}/info"),)
        return Behind((device,) if device is not None else (), (), readings)
    file = _FILE.search(info)
    return _of_file(sources, name, file[1], file[2], f"{home}/info") if file else Behind()


def _of_file(sources: Sources, name: str, file: str, mode: str, path: str) -> Behind:
    readings = (Reading(what="store", value=mode, path=path), Reading(what="store_file", value=file, path=path))
    if (device := sources.names.at(file)) is not None:
        return Behind((device,), (), readings)
    sectors = sources.tree.integer(f"/sys/block/{name}/size")
    told = (claims.answer(sources.claims, size_at(file)) or "").strip()
    if sectors is None or told != str(sectors * 512):
        return Behind((), (), readings)
    layer = file_layer(sources, file)
    return Behind((layer.id,), (layer,), readings)
