"""What udev knows about a device, where a udev database exists. Everything works without it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from fstui.storage.layers.sources.files import Tree

DATABASE = "/run/udev/data"


class Udev:
    """The properties of block devices: through libudev on the running system, from the files under another root."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.present = bool(tree.exists(DATABASE))
        self._context: Any = _context() if self.present and tree.real else None

    def properties(self, device: str) -> Mapping[str, str]:
        """The properties of the block device ``major:minor``, empty where nothing is known."""
        if not self.present:
            return {}
        if self._context is not None:
            return _through_libudev(self._context, device)
        lines = (self._tree.text(f"{DATABASE}/b{device}") or "").split("\n")
        pairs = (line.removeprefix("E:").partition("=") for line in lines if line.startswith("E:"))
        return {name: value for name, _, value in pairs}


def _context() -> Any:
    try:
        import pyudev  # noqa: PLC0415  27 ms, and useless where no udev runs

        return pyudev.Context()
    except ImportError:  # no libudev here: the files tell the same
        return None


def _through_libudev(context: Any, device: str) -> Mapping[str, str]:
    import pyudev  # noqa: PLC0415

    major, _, minor = device.partition(":")
    if not (major.isdecimal() and minor.isdecimal()):
        return {}
    try:
        return dict(pyudev.Devices.from_device_number(context, "block", os.makedev(int(major), int(minor))).properties)
    except (pyudev.DeviceNotFoundError, OSError, UnicodeDecodeError, OverflowError):
        return {}
