"""The system's files below a root: /proc, /sys, names of block devices, udev's database.

The root is prefixed to every path, so that tests can use a made-up /proc and /sys. Paths in results and readings never
contain the root.
"""

import os
import posixpath
import re
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path

from fstui.model.storage import Reading

SMALL_BYTES = 65536
SECTOR_BYTES = 512
"""sysfs counts in sectors of 512 bytes, whatever the block size of a device is."""
MAX_DIGITS = 15
_MAX_LINKS = 8


class Tree:
    """Reads the files below one root. A file that cannot be read is None. Nothing is cached, because sysfs changes."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = str(root).rstrip("/")
        self.is_real = self._root == ""
        """Whether this is the running system and not a made-up tree."""

    def data(self, path: str, limit_bytes: int = SMALL_BYTES) -> bytes | None:
        try:
            # a descriptor is faster than a file object, and counters are read many times per second;
            # O_NONBLOCK, because opening a fifo would block
            descriptor = os.open(self._root + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):  # ValueError: a NUL in the name
            return None
        try:
            if limit_bytes <= SMALL_BYTES:
                return os.read(descriptor, limit_bytes)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return file.read(limit_bytes)
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def text(self, path: str, limit_bytes: int = SMALL_BYTES) -> str | None:
        """Return a file's text without the newline at its end. Bytes that are not text are kept as surrogates."""
        data = self.data(path, limit_bytes)
        return None if data is None else os.fsdecode(data.removesuffix(b"\n"))

    def stripped(self, path: str) -> str | None:
        """Return a file's text without surrounding blanks; None if nothing is left."""
        return (self.text(path) or "").strip(" \t\n\0") or None

    def integer(self, path: str) -> int | None:
        return integer(self.stripped(path))

    def reading(
        self, what: str, path: str, *, only: Collection[str] = (), unless: Collection[str] = ()
    ) -> Reading | None:
        """Return a reading with the text of a file; None if the text is not in ``only``, or is in ``unless``."""
        word = self.stripped(path)
        if word is None or word in unless or (only and word not in only):
            return None
        return Reading(what=what, value=word, path=path)

    def names(self, path: str) -> tuple[str, ...]:
        """Return the sorted names in a directory; none if it cannot be read."""
        try:
            with os.scandir(self._root + path) as entries:
                return tuple(sorted(entry.name for entry in entries))
        except (OSError, ValueError):
            return ()

    def link(self, path: str) -> str | None:
        """Return the target of a symbolic link as it is written, or None."""
        try:
            return os.readlink(self._root + path)  # noqa: PTH115  Path is half as fast, for up to 10 000 links
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        try:
            return os.access(self._root + path, os.F_OK)
        except ValueError:
            return False


def integer(text: str | None) -> int | None:
    """Return a decimal number, or None. It has at most 15 digits, so that sectors in bytes fit in 64 bits."""
    if text is None or len(text) > MAX_DIGITS or not text.removeprefix("-").isdecimal() or not text.isascii():
        return None
    return int(text)


_PARTITION = re.compile(r"(?<=\d)p\d+$|(?<=\D)\d+$")
"""The end of a partition's name: ``p1`` of ``nvme0n1p1``, ``1`` of ``sda1``."""


class BlockDeviceNames:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_number: dict[str, str | None] = {}
        self.whole_devices = frozenset(tree.names("/sys/block"))
        self.all = self.whole_devices.union(tree.names("/sys/class/block"))

    def by_number(self, number: str) -> str | None:
        if number not in self._by_number:
            link = self._tree.link(f"/sys/dev/block/{number}")
            self._by_number[number] = link.rpartition("/")[2] if link else None
        return self._by_number[number]

    def by_path(self, path: str) -> str | None:
        """Return the kernel name of the device at ``/dev/…``, or None. Symbolic links are resolved below the root."""
        for _ in range(_MAX_LINKS):
            if not path.startswith("/dev/"):
                return None
            name = path.removeprefix("/dev/").replace("/", "!")  # the kernel's names have ! in place of /
            if name in self.all:
                return name
            link = self._tree.link(path)
            if link is None:
                return self._by_label.get(path)
            path = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
        return None

    @cached_property
    def _by_label(self) -> dict[str, str]:
        """Kernel names of device-mapper nodes by path, from sysfs, because without udev these nodes are not links."""
        labels = ((name, self._tree.stripped(f"/sys/block/{name}/dm/name")) for name in self.whole_devices)
        return {f"/dev/mapper/{label}": name for name, label in labels if label}

    def whole_device(self, name: str) -> str:
        """Return the disk of a partition; the name itself for a whole device."""
        if name in self.whole_devices:
            return name
        link = self._tree.link(f"/sys/class/block/{name}") or ""
        parts = link.split("/")
        return parts[-2] if len(parts) > 1 and parts[-2] in self.whole_devices else _PARTITION.sub("", name)


UDEV_DATABASE = "/run/udev/data"


def udev_properties(tree: Tree, device: str) -> Mapping[str, str]:
    """Return the properties of ``major:minor`` in udev's database; empty if udev is not running."""
    lines = (tree.text(f"{UDEV_DATABASE}/b{device}") or "").split("\n")
    pairs = (line.removeprefix("E:").partition("=") for line in lines if line.startswith("E:"))
    return {name: value for name, _, value in pairs}
