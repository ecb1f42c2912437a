"""Kinds of layers without a reader of their own. Their readings are those that all filesystems or devices have."""

from functools import partial

from fstui.storage.layers.devices.disk import Drive
from fstui.storage.layers.kinds import LayerKind

_in_memory = partial(LayerKind, sync="stops", reason="kept in memory", in_memory=True)

_PSEUDO = (
    "proc", "sysfs", "cgroup", "cgroup2", "cpuset", "devpts", "securityfs", "debugfs", "tracefs", "bpf", "mqueue",
    "hugetlbfs", "nsfs", "rpc_pipefs", "autofs", "binfmt_misc", "configfs", "efivarfs", "pstore", "selinuxfs",
    "smackfs", "resctrl", "fusectl", "nfsd", "sockfs", "pipefs", "anon_inodefs", "bdev", "xenfs", "usbfs",
    "openpromfs", "spufs", "functionfs", "gadgetfs", "binder", "dax", "drm", "secretmem", "guest_memfd",
)  # fmt: skip

KINDS = (
    *(
        _in_memory(name=name, layer="filesystem", needs_device=False)
        for name in ("tmpfs", "ramfs", "devtmpfs", "rootfs")
    ),
    _in_memory(name="zram", name_prefix="zram", accounting="own"),
    # brd: the kernel creates 16 of them, even if none is used
    _in_memory(name="ram", name_prefix="ram", accounting="none", listed_unused=False),
    # Ceph RBD: the kernel's client reports no volatile cache and has none (rbd_cache belongs to librbd); a write is
    # acknowledged when it is on disk on all replicas (Ceph documentation, "librbd Settings")
    Drive(name="rbd", name_prefix="rbd", counts_flushes=True, networked=True),
    # persistent memory: without this entry, such a device could be treated as a disk
    LayerKind(name="pmem", name_prefix="pmem", is_known=False, may_cache=True, accounting="own"),
    *(
        LayerKind(name=name, layer="filesystem", read_only=True)
        for name in ("squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf")
    ),
    *(LayerKind(name=name, layer="filesystem", pseudo=True) for name in _PSEUDO),
)
