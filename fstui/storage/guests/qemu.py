"""Read QEMU's disks, and what their settings do with a guest's flush.

A flush becomes an fdatasync(2) of the image unless the lowest block node has ``cache.no-flush``. The nodes above it
forward the flush regardless of their own setting (bdrv_co_flush in block/io.c). A node that is defined inside another
node inherits the settings of the outer node; a node that is referenced by its name does not. ``-snapshot`` applies to
``-drive`` only, so the other disks keep what the guest writes.
"""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from fstui.model.guests import GuestDisk, GuestFlush
from fstui.storage.guests.microvms import VHOST_USER, is_on
from fstui.storage.guests.sockets import decode_json

Options = dict[str, Any]

_OPTIONS_WITHOUT_VALUE = frozenset({
    "S", "alt-grab", "ctrl-grab", "curses", "daemonize", "enable-kvm", "enable-sync-profile", "full-screen", "h",
    "help", "mem-prealloc", "no-acpi", "no-fd-bootchk", "no-hpet", "no-kvm", "no-quit", "no-reboot", "no-shutdown",
    "no-user-config", "nodefaults", "nodefconfig", "nographic", "old-param", "only-migratable", "portrait", "preconfig",
    "s", "sdl", "semihosting", "singlestep", "snapshot", "usb", "version", "win2k-hack", "xen-attach",
    "xen-domid-restrict",
})  # fmt: skip
_IMPLIED_KEYS = {"device": "driver", "blockdev": "driver", "name": "guest", "chardev": "backend", "mon": "chardev"}
"""The key to which the first word of a value belongs if it has no ``=``: ``driver`` for ``-device virtio-blk,id=a``."""
_MODES = {
    (True, False, False): "writeback",
    (True, True, False): "none",
    (False, False, False): "writethrough",
    (False, True, False): "directsync",
    (True, False, True): "unsafe",
}
"""QEMU's names of (cache.writeback, cache.direct, cache.no-flush), as in qemu(1), -drive cache=."""
_MODE_SETTINGS = {mode: settings for settings, mode in _MODES.items()} | {"off": (True, True, False)}
"""The same settings by name. ``off`` is an older name of ``none``."""
_DISK_OPTIONS = ("hda", "hdb", "hdc", "hdd")
_NO_DISKS = frozenset({"none", "pflash", "mtd", "floppy"})
"""Interfaces of ``-drive`` that attach no disk."""
_CDROMS = frozenset({"ide-cd", "scsi-cd"})
_PASS_THROUGH = frozenset({"scsi-block", "scsi-generic"})
"""Devices that pass a flush to the disk as a SCSI command (scsi_block_is_passthrough in hw/scsi/scsi-disk.c)."""
_PASS_THROUGH_REASON = "the guest's SCSI commands go to the device itself, whatever the cache mode"
_OUTSIDE_QEMU = {
    "vhost-user": VHOST_USER,
    "vhost-scsi": "the kernel's SCSI target behind it decides: see its backstore in targetcli",
}
"""Devices whose disks QEMU does not write to, and what decides the effect of a flush."""
_FORMATS = frozenset({
    "blkdebug", "blklogwrites", "bochs", "cloop", "compress", "copy-before-write", "copy-on-read", "dmg", "luks",
    "parallels", "preallocate", "qcow", "qcow2", "qed", "quorum", "raw", "replication", "snapshot-access", "throttle",
    "vdi", "vhdx", "vmdk", "vpc",
})  # fmt: skip
"""Drivers of formats and filters (BlockdevDriver in qapi/block-core.json). They store nothing, so the lowest node of a
disk has another driver."""
_DEFAULT: Mapping[str, Any] = {}
MAX_DEPTH = 32
PASS_THROUGH = "pass-through"
_URL_USER = re.compile(r"(?<=:)//[^/@]*@")
_CHILD_KEYS = ("file", "image")
"""The keys of the node that a format or a filter writes to."""


class BlockNode(NamedTuple):
    image: str
    format: str
    direct: bool = False
    no_flush: bool = False
    read_only: bool = False
    is_defined: bool = True
    """False: the arguments do not define the node, and ``image`` is its name."""


def arguments(words: Sequence[str]) -> list[tuple[str, str]]:
    """Return the options and their values. An image without an option is ``hda``."""
    options = []
    remaining_words = iter(words[1:])  # the first word is the program
    for word in remaining_words:
        name = word.removeprefix("-").removeprefix("-")
        if not word.startswith("-"):
            options.append(("hda", word))
        else:
            # next: the loop must skip the word with the value
            value = "" if name in _OPTIONS_WITHOUT_VALUE else next(remaining_words, "")
            options.append((name, value))
    return options


def parse_option(option: str, text: str) -> Options:
    """Return the keys and values in an option: JSON, or a list of ``key=value`` with doubled commas in values."""
    if text.startswith("{"):
        options = decode_json(os.fsencode(text))
        return options if isinstance(options, dict) else {}
    pairs: Options = {}
    for index, word in enumerate(text.replace(",,", "\0").split(",")):
        key, equals, value = word.replace("\0", ",").partition("=")
        if index == 0 and not equals and option in _IMPLIED_KEYS:
            pairs[_IMPLIED_KEYS[option]] = key
        else:
            pairs[key] = value if equals else "on"
    return pairs


def disks(arguments: Sequence[tuple[str, str]]) -> list[GuestDisk]:
    """Return the disks that the arguments attach and that the guest can write to."""
    drives, nodes, devices = _group(arguments)
    snapshot = any(name == "snapshot" for name, _ in arguments)
    guest_disks = []
    attached_ids = set()
    for device in devices:
        # libvirt and Proxmox name the drive of the device scsi0 "drive-scsi0"
        name = str(device.get("id") or str(device.get("drive", "")).removeprefix("drive-") or device.get("driver"))
        source = device.get("drive")
        driver = str(device.get("driver"))
        if backend := re.match(r"(vhost-user)-(?:blk|scsi)|(vhost-scsi)", driver):
            kind = str(backend[1] or backend[2])
            guest_disks.append(GuestDisk(name=name, image=kind, reason=_OUTSIDE_QEMU[kind]))
        if not isinstance(source, str) or driver in _CDROMS:
            continue
        attached_ids.add(source)
        if source in drives:
            attached_disks = _disk_of_drive(name, drives[source], device, nodes, snapshot)
        else:
            attached_disks = _disk_of_node(name, _lowest_node(source, nodes), is_on(device.get("write-cache"), True))
        if driver in _PASS_THROUGH:
            settings = {"cache": PASS_THROUGH, "flush": "passed", "reason": _PASS_THROUGH_REASON}
            attached_disks = [replace(disk, **settings) for disk in attached_disks]
        guest_disks += attached_disks
    for key, drive in drives.items():
        if key not in attached_ids and drive.get("if") not in _NO_DISKS:
            guest_disks += _disk_of_drive(key, drive, {}, nodes, snapshot)
    return guest_disks


def monitor_path(arguments: Sequence[tuple[str, str]]) -> str:
    """Return the path of the first QMP socket in the arguments; empty if there is none."""
    sockets = {}
    for option, text in arguments:
        if option in ("qmp", "qmp-pretty") and text.startswith("unix:"):
            return text.removeprefix("unix:").partition(",")[0]
        if option == "chardev":
            values = parse_option(option, text)
            sockets[values.get("id")] = str(values.get("path") or "")
        if option == "mon" and (values := parse_option(option, text)).get("mode") == "control":
            return sockets.get(values.get("chardev"), "")
    return ""


def update_disks(disks: Sequence[GuestDisk], backends: Sequence[Any], nodes: Sequence[Any]) -> list[GuestDisk]:
    """Return the disks, updated and completed by the results of ``query-block`` and ``query-named-block-nodes``."""
    no_flush = {node["file"]: node["cache"]["no-flush"] for node in nodes if node["drv"] not in _FORMATS}
    by_name = {disk.name: disk for disk in disks}
    for backend in backends:
        inserted = backend.get("inserted") or {"ro": True}  # without a medium, the guest cannot write
        image = "" if inserted["ro"] else _lowest_node({"filename": inserted["file"]}, {}).image
        if not image or image not in no_flush:
            continue
        # /machine/peripheral/ID/… is the path of a device to which the user gave an id
        parts = str(backend.get("qdev") or backend["device"]).split("/")
        name = parts[3] if parts[1:3] == ["machine", "peripheral"] else str(backend["device"] or parts[-1])
        name = next((disk.name for disk in disks if name == disk.name or image == disk.image), name)
        defined_disk = by_name.get(name)
        # for a disk with -snapshot and a pass-through disk, the reported cache mode has no effect
        if defined_disk is not None and (defined_disk.flush == "discarded" or defined_disk.cache == PASS_THROUGH):
            continue
        cache, format_ = inserted["cache"], defined_disk.format if defined_disk else str(inserted["drv"])
        node = BlockNode(image, format_, cache["direct"], no_flush[image])
        by_name |= {disk.name: disk for disk in _disk_of_node(name, node, cache["writeback"])}
    return list(by_name.values())


def _group(arguments: Sequence[tuple[str, str]]) -> tuple[dict[str, Options], dict[str, Options], list[Options]]:
    """Return the drives by id, the block nodes by name, and the devices."""
    drives: dict[str, Options] = {}
    nodes: dict[str, Options] = {}
    devices: list[Options] = []
    for option, text in arguments:
        if option == "drive":
            drive = parse_option(option, text)
            drives[str(drive.get("id") or f"{drive.get('if', 'disk')}{drive.get('index', len(drives))}")] = drive
        elif option in _DISK_OPTIONS:
            drives[option] = {"file": text}
        elif option == "blockdev":
            node = _nest(parse_option(option, text))
            nodes[str(node.get("node-name", ""))] = node
        elif option == "device":
            devices.append(parse_option(option, text))
        elif option == "set":
            _apply_set(text, drives, devices)
    return drives, nodes, devices


def _apply_set(text: str, drives: dict[str, Options], devices: list[Options]) -> None:
    """Apply ``-set GROUP.ID.KEY=VALUE``. An id may contain dots."""
    target, _, value = text.partition("=")
    group, _, id_and_key = target.partition(".")
    groups = {"drive": list(drives.values()), "device": devices}
    for options in groups.get(group, []):
        if (key := id_and_key.removeprefix(f"{options.get('id')}.")) != id_and_key:
            options[key] = value


def _nest(flat: Options) -> Options:
    """Return ``{"file": {"filename": …}}`` for ``file.filename=…``."""
    nested: Options = {}
    for key, value in flat.items():
        *outer_keys, last_key = key.split(".")
        inner = nested
        for name in outer_keys:
            if not isinstance(inner.get(name), dict):
                inner[name] = {"filename": inner[name]} if name in inner else {}
            inner = inner[name]
        inner[last_key] = value
    return nested


def _disk_of_drive(
    name: str, drive: Options, device: Options, nodes: Mapping[str, Options], snapshot: bool
) -> list[GuestDisk]:
    """Return the disk of ``-drive``; none for a CD-ROM."""
    if drive.get("media") == "cdrom":
        return []
    # cache= sets defaults. cache.direct= and the like replace them, and the device's write-cache replaces writeback
    writeback, direct, no_flush = _MODE_SETTINGS.get(str(drive.get("cache", "writeback")), (True, False, False))
    options = _nest({key: value for key, value in drive.items() if key not in ("cache", "file")})
    child = options.pop("file", {})
    if "file" in drive:
        child = {**(child if isinstance(child, dict) else {}), "filename": drive["file"]}
    cache_options = options.get("cache", {})
    writeback = is_on(cache_options.get("writeback"), writeback)
    cache = {"direct": cache_options.get("direct", direct), "no-flush": cache_options.get("no-flush", no_flush)}
    node = {"driver": drive.get("format", ""), "cache": cache, "file": child or None}
    lowest_node = _lowest_node(node, nodes)._replace(read_only=is_on(drive.get("readonly", drive.get("read-only"))))
    writeback = is_on(device.get("write-cache"), writeback)
    return _disk_of_node(name, lowest_node, writeback, discarded=is_on(drive.get("snapshot"), snapshot))


def _disk_of_node(name: str, node: BlockNode, writeback: bool, *, discarded: bool = False) -> list[GuestDisk]:
    """Return the disk; none if it is read-only. ``discarded``: the guest's writes are lost when QEMU ends."""
    if node.read_only:
        return []
    if not node.is_defined:
        reason = f"its arguments do not define the block node {node.image}: see 'info block' in QEMU's monitor"
        return [GuestDisk(name=name, image="", reason=reason)]
    settings = (writeback, node.direct, node.no_flush)
    cache = _MODES.get(settings) or f"{_MODES[writeback, node.direct, False]} with no-flush"
    switches = {"write-cache": writeback, "cache.direct": node.direct, "cache.no-flush": node.no_flush}
    reason = ", ".join(f"{key}={'on' if value else 'off'}" for key, value in switches.items())
    flush: GuestFlush = "ignored" if node.no_flush else "passed" if writeback else "each write"
    if discarded:
        cache, flush, reason = "snapshot", "discarded", "snapshot=on: the guest writes to a temporary file"
    return [GuestDisk(name=name, image=node.image, format=node.format, cache=cache, flush=flush, reason=reason)]


def _lowest_node(
    node: object, nodes: Mapping[str, Options], cache: Mapping[str, Any] = _DEFAULT, format_: str = "", depth: int = 0
) -> BlockNode:
    """Return the lowest node below a node, with the cache settings and the format that it inherits from outer nodes."""
    options = nodes.get(node) if isinstance(node, str) else node
    if not isinstance(options, dict) or depth > MAX_DEPTH:
        return BlockNode(str(node), format_, is_defined=False)
    inherited_settings, own_settings = _DEFAULT if isinstance(node, str) else cache, options.get("cache")
    cache = {**inherited_settings, **own_settings} if isinstance(own_settings, dict) else inherited_settings
    name = options.get("filename")
    child = next((options[key] for key in _CHILD_KEYS if options.get(key)), None)
    if isinstance(name, str) and name.startswith("json:"):  # the options of a node in place of a file name
        child = parse_option("blockdev", name.removeprefix("json:"))
    if child is None:
        lowest_node = BlockNode(_image_of(options), format_, is_on(cache.get("direct")), is_on(cache.get("no-flush")))
    else:
        lowest_node = _lowest_node(child, nodes, cache, str(options.get("driver") or format_), depth + 1)
    return lowest_node._replace(read_only=lowest_node.read_only or is_on(options.get("read-only")))


def _image_of(options: Options) -> str:
    """Return the path of the image, or the name of a network volume, without passwords."""
    if name := str(options.get("filename") or ""):
        # rbd:POOL/IMAGE:KEY=VALUE…: a value may be a password
        name = ":".join(name.split(":")[:2]) if name.startswith("rbd:") else _URL_USER.sub("//", name)
        return name.removeprefix("file:").removeprefix("host_device:")
    server = options.get("server")
    fields = {**options, **(server if isinstance(server, dict) else {})}
    parts = [fields.get(key) for key in ("host", "pool", "volume", "target", "image", "path", "export")]
    return f"{options.get('driver', '')}:{'/'.join(str(part) for part in parts if part)}"
