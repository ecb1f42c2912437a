"""The layers that storage consists of.

``rows.py`` has the kinds that are only a row of properties. A kind with readings of its own has a file in
``filesystems``, ``zfs``, ``stacked`` (block devices on other devices or files) or ``devices``: its rows are ``KINDS``,
and its reader is ``FILESYSTEMS`` (a ``readers.FilesystemReader``) or ``DEVICES`` (a ``readers.DeviceReader``). Modules
with ``KINDS`` are found automatically. Code asks the row of a layer (``kind``) about it and never compares names.
The first screen waits until all of these modules are imported, so most patterns are strings that are compiled when they
are first used.
"""

from fstui.storage.layers.kinds import LayerKind, kind

__all__ = ["LayerKind", "kind"]
