"""The names of block devices: by number, by path, and which disk a partition is part of."""

from __future__ import annotations

import re
from functools import cached_property

from fstui.storage.layers.sources.files import Tree

_PARTITION = re.compile(r"(?<=\d)p\d+$|(?<=\D)\d+$")


class Names:
    """The block devices under one root, as they were when this was made."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._by_number: dict[str, str | None] = {}
        self.wholes = frozenset(tree.names("/sys/block"))
        """Whole devices, by kernel name."""
        self.all = self.wholes.union(tree.names("/sys/class/block"))
        """Whole devices and partitions."""

    def of(self, number: str) -> str | None:
        """The kernel name of the device ``major:minor``, or None."""
        if number not in self._by_number:
            link = self._tree.link(f"/sys/dev/block/{number}")
            self._by_number[number] = link.rpartition("/")[2] if link else None
        return self._by_number[number]

    def at(self, path: str) -> str | None:
        """The kernel name of the device at ``/dev/…``, its symbolic links followed under the root, or None."""
        for _ in range(8):
            if not path.startswith("/dev/"):
                return None
            name = path.removeprefix("/dev/").replace("/", "!")
            if name in self.all:
                return name
            link = self._tree.link(path)
            if link is None:
                return self._by_label.get(path)
            path = link if link.startswith("/") else _joined(path, link)
        return None

    @cached_property
    def _by_label(self) -> dict[str, str]:
        """The kernel names of device-mapper devices by the nodes that dmsetup makes where no udev runs (a container, an
        initial RAM disk): no links, and their names are told in sysfs alone."""
        labels = ((name, self._tree.word(f"/sys/block/{name}/dm/name")) for name in self.wholes)
        return {f"/dev/mapper/{label}": name for name, label in labels if label}

    def whole(self, name: str) -> str:
        """The disk that a partition is part of; the name itself for a whole device."""
        if name in self.wholes:
            return name
        link = self._tree.link(f"/sys/class/block/{name}") or ""
        parts = link.split("/")
        return parts[-2] if len(parts) > 1 and parts[-2] in self.wholes else _PARTITION.sub("", name)


def _joined(path: str, link: str) -> str:
    parts = path.split("/")[:-1]
    for part in link.split("/"):
        if part == "..":
            parts = parts[:-1] or [""]
        elif part not in (".", ""):
            parts.append(part)
    return "/".join(parts)
