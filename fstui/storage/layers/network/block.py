"""Ceph RBD.

The kernel's client reports no volatile cache and has none: ``rbd_cache`` belongs to librbd. A write is acknowledged
when it is on disk on all replicas (Ceph documentation, "librbd Settings").
"""

from fstui.storage.layers.devices.disk import Drive

KINDS = (Drive(name="rbd", layer="block", device_names="rbd", counts_flushes=True, networked=True),)
