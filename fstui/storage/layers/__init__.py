"""The layers that storage consists of.

``rows.py`` has the kinds that are only a row of properties. A kind with readings of its own has a module in
``filesystems``, ``zfs``, ``stacked`` (block devices on other devices or files) or ``devices``. The rows of such a
module are ``KINDS``, and each names its reader. Modules with ``KINDS`` are found automatically. Code uses the row of a
layer (``kind``) and never compares names of kinds. The first screen waits until all of these modules are imported, so
most patterns are strings that are compiled when they are first used.
"""

from fstui.storage.layers.kinds import LayerKind, kind

__all__ = ["LayerKind", "kind"]
