"""Flash that the kernel drives itself (MTD), UBI's volumes, and what stands on them: UBIFS, JFFS2, mtdblock.

An MTD device counts nothing, and has no cache of its own; UBIFS and JFFS2 hold back less than a page of it, which a
sync writes out; mtdblock holds a whole erase block in memory until a flush. mtdram and nandsim are made of memory.
Documentation/ABI/testing/sysfs-class-mtd, stable/sysfs-class-ubi; fs/ubifs/super.c: open_ubi.
"""

from __future__ import annotations

import re
from functools import partial

from fstui.model.storage import Node
from fstui.proc import Mount
from fstui.storage.layers.kinds import Kind, kind
from fstui.storage.layers.readers import FLASH_MAJOR, Device, DeviceReader, Filesystem, FilesystemReader, some
from fstui.storage.layers.sources.files import Tree

_SIMULATED = (("mtdram test device", "mtdram"), ("NAND simulator partition", "nandsim"))
"""How the simulators name what they make of memory (drivers/mtd/devices/mtdram.c, nand/raw/nandsim.c)."""
_NUMBER = re.compile(r"\d+$")
_NAMED = re.compile(r"ubi(\d*)[:!](.+)$")
_NUMBERED = re.compile(r"ubi(?:(\d+)_)?(\d+)$")


def flash(tree: Tree, number: str) -> Node | None:
    """The MTD device of that number, as a layer; None where the kernel has none."""
    home = f"/sys/class/mtd/mtd{number}"
    name = tree.word(f"{home}/name")
    if name is None:
        return None
    made = next((made for start, made in _SIMULATED if name.startswith(start)), "mtd")
    readings = some([tree.reading("type", f"{home}/type"), tree.reading("name", f"{home}/name")])
    return kind(made).node(
        f"mtd:mtd{number}", f"mtd{number}", readings=readings, size_bytes=tree.integer(f"{home}/size")
    )


def volume(tree: Tree, source: str) -> tuple[Node, ...]:
    """The UBI volume that a mount names, and the flash below it."""
    name = _volume_name(tree, source)
    device = name.partition("_")[0]
    home, above = f"/sys/class/ubi/{name}", f"/sys/class/ubi/{device}"
    if not name or not tree.exists(home):
        return ()
    below = flash(tree, tree.word(f"{above}/mtd_num") or "")
    trouble = (tree.reading("corrupted", f"{home}/corrupted"), tree.reading("ro_mode", f"{above}/ro_mode"))
    top = kind("ubi").node(
        f"ubi:{name}",
        f"{name} {tree.word(f'{home}/name') or ''}".strip(),
        below=(below.id,) if below else (),
        state=some(reading if reading and reading.value == "1" else None for reading in trouble),
    )
    return (top, *([below] if below else []))


def _volume_name(tree: Tree, source: str) -> str:
    """``ubi0_3`` for ``ubi0_3``, ``ubi3`` (of the first device), ``ubi0:root`` and ``ubi:root``; else empty."""
    words = source.removeprefix("/dev/")
    if named := _NAMED.match(words):
        found = (name for name in tree.names("/sys/class/ubi") if name.startswith(f"ubi{named[1] or 0}_"))
        return next((name for name in found if tree.word(f"/sys/class/ubi/{name}/name") == named[2]), "")
    numbered = _NUMBERED.match(words)
    return f"ubi{numbered[1] or 0}_{numbered[2]}" if numbered else ""


class FlashReader(FilesystemReader):
    """Reads UBIFS and JFFS2."""

    def stands_on(self, mount: Mount) -> Filesystem:
        """A UBI volume by its name, an MTD device by its number: no block device is between, whatever its name says."""
        if self.row.name == "ubifs":
            found = volume(self.tree, mount.source)
        else:
            major, _, minor = mount.device.partition(":")
            below = flash(self.tree, minor) if major == FLASH_MAJOR else None
            found = (below,) if below else ()
        return Filesystem(tuple(node.id for node in found[:1]), others=found)


class FlashDeviceReader(DeviceReader):
    """Reads block devices on flash."""

    def read(self, name: str) -> Device:
        number = _NUMBER.search(name)
        if self.row.name == "ubiblock":
            found = volume(self.tree, f"ubi{name.removeprefix('ubiblock')}")
        else:
            below = flash(self.tree, number[0]) if number else None
            found = (below,) if below else ()
        return Device(self.row.name, name, tuple(node.id for node in found[:1]), self.queue(name), others=found)


_forgets = partial(Kind, layer="memory", sync="stops", because="kept in memory", in_memory=True)
_filesystem = partial(Kind, layer="filesystem", needs_device=False, sync="passes")

KINDS = (
    Kind(name="mtd", layer="flash", label="", sync="passes", because="flash without a cache of its own"),
    _forgets(name="mtdram"),
    _forgets(name="nandsim"),
    Kind(name="ubi", layer="flash", label="", sync="passes", because="it maps blocks, and holds none back"),
    Kind(
        name="mtdblock",
        layer="block",
        device_names="mtdblock",
        sync="passes",
        because="a flush writes out the erase block that it holds in memory",
        counts_flushes=True,
    ),
    Kind(name="ubiblock", layer="block", device_names="ubiblock", because="it only reads"),
    _filesystem(name="ubifs", because="a sync writes out what is held back for a page of flash"),
    _filesystem(name="jffs2", because="a sync writes out what is held back for a page of flash"),
)
FILESYSTEMS = FlashReader
DEVICES = FlashDeviceReader
