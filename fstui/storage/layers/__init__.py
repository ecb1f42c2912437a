"""The layers that storage is made of: one module per family, with a row of properties for each kind.

To add a kind of layer, add one module to the room it belongs in, with its rows as ``KINDS`` (``kinds.Kind``); and where
more is read of it than of every layer, who reads it: ``DEVICES`` (a ``readers.DeviceReader``) or ``FILESYSTEMS`` (a
``readers.FilesystemReader``). Modules that have ``KINDS`` are found by themselves; whoever asks about a layer asks its
row (``kind``), never its name.
"""

from fstui.storage.layers.kinds import Kind, kind

__all__ = ["Kind", "kind"]
