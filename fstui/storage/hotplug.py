"""Detect that anything was mounted, unmounted, plugged in or removed."""

from pathlib import Path

from fstui.proc import MOUNTINFO
from fstui.storage.mounts import MAX_MOUNTS_BYTES
from fstui.storage.tree import UDEV_DATABASE, Tree


class Watch:
    def __init__(self, root: Path = Path("/")) -> None:
        self._tree = Tree(root)
        self._last_state = self._state()

    def has_changed(self) -> bool:
        """Return whether anything changed since the last call, or since the watch began."""
        earlier, self._last_state = self._last_state, self._state()
        return earlier != self._last_state

    def _state(self) -> tuple[object, ...]:
        """Return the block devices, the mounts, and when udev last wrote its database. udev writes it when it knows the
        properties of a new device, and when a medium or a property changes."""
        tree = self._tree
        mounts = tree.data(MOUNTINFO, MAX_MOUNTS_BYTES)
        return tree.names("/sys/class/block"), mounts, tree.modified_ns(UDEV_DATABASE)
