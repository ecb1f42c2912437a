"""Disks and their partitions.

Readings from sysfs, and from udev if it runs: ``cache_type`` (from the driver, which never shows "temporary"),
``ID_ATA_WRITE_CACHE_ENABLED`` (what udev read when the drive was found), ``rpm``, ``form_factor``, ``zoned``,
``F_FLUSH`` and ``CONFIG_WCE`` (yes | no, virtio-blk), ``vmbus_id`` and ``lun`` (Hyper-V), ``card`` (MMC | SD),
``grade`` (consumer | data centre | cloud | raid | array | virtual | hard disk, by the model table).

The flush of an MMC or SD card is counted like any other. The driver receives it as a request. If the card's own cache
is on, the driver flushes it (CMD6, EXT_CSD FLUSH_CACHE). A card without a cache also reports "write back" if it
supports reliable writes, which the driver uses for FUA (drivers/mmc/core/block.c, mmc.c).
"""

import re
from collections.abc import Iterator, Sequence

from fstui.model.storage import Node, Reading, SyncPath
from fstui.storage.layers.devices import caches, health, links, models, nvme
from fstui.storage.layers.devices.caches import cache_commands, is_cache_on, is_declared
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.facts import number, off_reading
from fstui.storage.layers.kinds import LayerKind
from fstui.storage.layers.readers import DeviceReader, LayerDescription, with_readings, without_none
from fstui.storage.tool_output import Command
from fstui.storage.tree import UDEV_DATABASE, Tree, integer, udev_properties

_VPD_NOT_ROTATING = 1
_VPD_RATES = range(0x0401, 0xFFFF)
"""SBC: 1 is a medium that does not rotate, 0401h to FFFEh a rate in revolutions per minute."""
_FEATURES = {"F_FLUSH": 9, "CONFIG_WCE": 11}
"""Bits of virtio-blk (include/uapi/linux/virtio_blk.h). sysfs shows one character for each, lowest first."""
_VMBUS = re.compile(r"/(?:VMBUS|MSFT1000)[^/]*/([0-9a-f]{8}-[0-9a-f-]+)/.*/\d+:\d+:\d+:(\d+)/", re.IGNORECASE)


def is_virtual(node: Node) -> bool:
    """Return whether a hypervisor provides the disk. Its rotational flag is then meaningless."""
    model = models.find(node.model)
    return link(node.link).virtual or (model is not None and model.grade == "virtual")


def is_attached_directly(node: Node) -> bool:
    """Return whether this is a drive with no hypervisor, bridge, controller or network between it and this host."""
    model = models.find(node.model)
    is_behind_controller = model is not None and model.grade in {"raid", "array"}
    is_elsewhere = is_behind_controller or (node.medium is not None and node.medium.class_ in {"network", "raid-cache"})
    is_on_network = node.value("transport") in nvme.LOCAL_TRANSPORTS
    # drives on such a link report their form factor, so a device that reports none may be an array
    may_be_array = link(node.link).drives_report_form and not is_declared(node) and number(node, "form_factor") is None
    return link(node.link).direct and not (is_virtual(node) or is_elsewhere or is_on_network or may_be_array)


def is_passed_through(node: Node) -> bool:
    """Return whether this is a drive that a controller passes through. Such a drive reports its form factor."""
    return link(node.link).may_be_an_array and number(node, "form_factor") is not None and not is_virtual(node)


def write_placement(node: Node) -> models.WritePlacement:
    """Return where a hard disk writes, by its model. An unknown model is assumed to write sequentially, like
    a shingled disk."""
    model = models.find(node.model)
    if model is not None:
        logs = model.logs_without_cache and is_cache_on(node) is False
        return "log" if logs else model.write_placement
    return "log" if node.model and node.reading("grade") is None and not is_declared(node) else "in place"


def is_over_own_network(node: Node) -> bool:
    """Return whether the disk is reached over the user's own fabric or SAN, not over a cloud's network."""
    return link(node.link).own_network or node.value("transport") in nvme.LOCAL_TRANSPORTS


class DiskReader(DeviceReader):
    """Reads disks: all block devices whose name belongs to no other reader."""

    def read(self, name: str) -> LayerDescription:
        tree, directory = self.tree, f"/sys/block/{name}"
        path = links.path_of(tree, name)
        link_name = links.link_of(path, name)
        device_number = tree.stripped(f"{directory}/dev") or ""
        properties, database = udev_properties(tree, device_number), f"{UDEV_DATABASE}/b{device_number}"
        model_name = _model_name(tree, directory) or properties.get("ID_MODEL", "").replace("_", " ") or None
        model, cache_enabled = models.find(model_name), properties.get("ID_ATA_WRITE_CACHE_ENABLED")
        state = tree.reading("state", f"{directory}/device/state", unless=("running", "live"))
        firmware = [tree.reading("firmware", f"{directory}/device/{file}") for file in ("rev", "firmware_rev")]
        # a device without hardware or on an unknown link may not be a disk, so its kind comes from its name
        is_unknown = "/virtual/block/" in path or (path and link_name is None)
        disk_readings = (
            _cache_type(tree, directory, name),
            *(_feature_readings(tree, directory) if name.startswith("vd") else ()),
            tree.reading("zoned", f"{directory}/queue/zoned", unless=("none",)),
            Reading(what="ID_ATA_WRITE_CACHE_ENABLED", value=cache_enabled, path=database) if cache_enabled else None,
            *_form_and_rate(tree, directory, name, properties.get("ID_ATA_ROTATION_RATE_RPM"), database),
            *links.readings(tree, path, link_name),
            tree.reading("transport", f"{directory}/device/transport") if link_name == "nvme" else None,
            tree.reading("card", f"{directory}/device/type") if link_name == "mmc" else None,
            *_vmbus_readings(path, directory),
            Reading(what="grade", value=model.grade, path=f"model table: {model.source}") if model else None,
            next((reading for reading in firmware if reading and models.find_fault(model_name, reading.value)), None),
        )
        return LayerDescription(
            # the name without its number: drbd of drbd0
            kind=(re.split(r"\d", name, maxsplit=1)[0] or name) if is_unknown else self.layer_kind.name,
            below=self.slaves(name),
            readings=(*self.queue_readings(name), *without_none(disk_readings)),
            state=without_none([state]),
            identity=_identity(tree, directory) or properties.get("ID_SERIAL", ""),
            model=model_name,
            link=link_name,
        )

    def worth_listing(self, node: Node) -> bool:
        return nvme.controller_of(node.id) is None  # a multipath head represents its paths

    def with_tool_output(self, node: Node) -> Node:
        outputs = self.sources.tool_outputs
        return with_readings(node, (*caches.cache_readings(node, outputs), *health.health_readings(node, outputs)))


def _feature_readings(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """Return whether the host offers a flush, and whether it lets the guest switch the cache of the disk."""
    path = f"{directory}/device/features"
    bits = tree.stripped(path) or ""
    if not bits or set(bits) - {"0", "1"} or len(bits) <= max(_FEATURES.values()):
        return ()
    named_bits = ((what, "yes" if bits[bit] == "1" else "no") for what, bit in _FEATURES.items())
    return tuple(Reading(what=what, value=value, path=path) for what, value in (("features", bits), *named_bits))


def _vmbus_readings(path: str, directory: str) -> tuple[Reading, ...]:
    """Return Hyper-V's id of the controller, and the LUN. They identify Azure's kinds of disk."""
    match = _VMBUS.search(path)
    values = zip(("vmbus_id", "lun"), match.groups(), strict=True) if match else ()
    return tuple(Reading(what=what, value=value, path=directory) for what, value in values)


def _model_name(tree: Tree, directory: str) -> str | None:
    model = tree.stripped(f"{directory}/device/model")
    vendor = tree.stripped(f"{directory}/device/vendor")
    # libata reports the vendor ATA for every disk; PCI and virtio report a number
    if model is None or vendor is None or vendor == "ATA" or vendor.startswith("0x") or model.startswith(vendor):
        return model
    return f"{vendor} {model}"


def _identity(tree: Tree, directory: str) -> str:
    """Return an identifier that no other disk has; empty if there is none."""
    words = (tree.stripped(f"{directory}/{path}") for path in ("wwid", "device/wwid", "serial", "device/serial"))
    return next(filter(None, words), "")


def _cache_type(tree: Tree, directory: str, name: str) -> Reading | None:
    """Return the cache type, from virtio or from the SCSI disk driver, which reads it from the drive (mode page 8).

    If "temporary …" was written there, the driver shows the setting without that word (drivers/scsi/sd.c).
    """
    if name.startswith("vd"):
        return tree.reading("cache_type", f"{directory}/cache_type")
    if name.startswith("sd"):
        for address in tree.names(f"{directory}/device/scsi_disk"):
            return tree.reading("cache_type", f"{directory}/device/scsi_disk/{address}/cache_type")
    return None


def _form_and_rate(tree: Tree, directory: str, name: str, udev_rate: str | None, database: str) -> Iterator[Reading]:
    """Yield the form factor and the rotation rate from SCSI VPD page B1, else the rate that udev read from the drive.

    The form factor is 1 (5.25 inches) to 5 (less than 1.8 inches); arrays report none. The rate is 0 if nothing
    rotates.
    """
    path = f"{directory}/device/vpd_pgb1"
    page = (tree.data(path, 64) or b"") if name.startswith("sd") else b""
    page = page if len(page) > 7 and page[1] == 0xB1 else bytes(8)
    if form_factor := page[7] & 0xF:
        yield Reading(what="form_factor", value=str(form_factor), path=path)
    vpd_rate = int.from_bytes(page[4:6], "big")
    rate = 0 if vpd_rate == _VPD_NOT_ROTATING else vpd_rate if vpd_rate in _VPD_RATES else None
    if rate is None:
        rate, path = integer(udev_rate), database
    if rate == 0 or rate in _VPD_RATES:
        yield Reading(what="rpm", value=str(rate), path=path)


class Drive(LayerKind, frozen=True, kw_only=True):
    """The kind of a lowest device with a write cache of its own."""

    def sync_of(self, node: Node) -> tuple[SyncPath, str]:
        """Compare the kernel's setting of the cache with what the drive reports."""
        if node.write_cache == "write back":
            state = "write cache on" if is_cache_on(node) else "flushed, although the drive reports its cache off"
            return "passes", state + (", no FUA" if node.fua is False else "")
        if node.write_cache != "write through":
            return "unknown", ""
        if is_cache_on(node):
            return "stops", "the kernel is set to write through, but the drive reports that its write cache is on"
        if off_reading(node, "F_FLUSH"):
            return "unknown", "write through: the host offers no flush (virtio F_FLUSH), so the kernel sends none"
        return "unknown", "write through: the kernel assumes that there is no volatile cache, and sends no flush"

    def commands(self, nodes: Sequence[Node], sources: Sequence[str]) -> tuple[Command, ...]:
        commands = [command for node in nodes for command in (*cache_commands(node), health.health_command(node))]
        return tuple(command for command in commands if command is not None)

    def is_each_write_durable(self, node: Node) -> bool:
        """Return True for a run of an earlier version, which saved the storage of a server on this host below the disk.

        How the server handles a write is unknown: each write may already be durable. So these layers are not judged.
        """
        return bool(node.below)


PARTITION = LayerKind(
    name="partition", sync="passes", reason="a partition of a disk passes everything on", adds_bytes=False
)
KINDS = (
    Drive(
        name="disk",
        label="",
        name_prefix="",
        reader=DiskReader,
        counts_flushes=True,
        adds_bytes=False,
        settings=("cache_type",),
    ),
    PARTITION,
)
