"""What kinds of filesystems there are: those that cannot hold files, that live in memory, or on another machine."""

from __future__ import annotations

from fstui.inventory.files import Tree
from fstui.inventory.mounts import Mount

MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "rootfs"})

REMOTE = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "9p", "virtiofs", "ceph", "lustre", "afs", "coda", "orangefs",
    "beegfs", "gpfs", "vboxsf", "vmhgfs", "prl_fs", "fuse",
})  # fmt: skip

FLUSHING = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"})
"""Their fsync is known to end in a flush, unless barriers are off."""

READ_ONLY = frozenset({"squashfs", "erofs", "cramfs", "romfs", "iso9660", "udf"})
"""Read-only by nature: ``ro`` is no sign of trouble there."""

_PSEUDO = frozenset({
    "proc", "sysfs", "cgroup", "cgroup2", "cpuset", "devpts", "securityfs", "debugfs", "tracefs", "bpf", "mqueue",
    "hugetlbfs", "nsfs", "rpc_pipefs", "autofs", "binfmt_misc", "configfs", "efivarfs", "pstore", "selinuxfs",
    "smackfs", "resctrl", "fusectl", "nfsd", "sockfs", "pipefs", "anon_inodefs", "bdev", "xenfs", "usbfs",
    "openpromfs", "spufs", "functionfs", "gadgetfs", "binder", "dax", "drm", "secretmem", "guest_memfd",
    "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal",
})  # fmt: skip

_WITHOUT_DEVICE = (
    MEMORY | REMOTE | frozenset({"overlay", "aufs", "btrfs", "zfs", "bcachefs", "ubifs", "jffs2", "ecryptfs"})
)
"""Marked ``nodev`` in /proc/filesystems, and yet they hold files."""


def is_remote(fstype: str) -> bool:
    """Another machine, or a user's program, answers for this filesystem."""
    return fstype in REMOTE or fstype.startswith("fuse.") or fstype == "fuseblk"


def nodev(tree: Tree) -> frozenset[str]:
    """The filesystem types that need no device, from /proc/filesystems."""
    lines = (tree.text("/proc/filesystems") or "").split("\n")
    return frozenset(line.removeprefix("nodev").strip() for line in lines if line.startswith("nodev"))


_SINGLE_FILES = frozenset({"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"})
"""What container engines mount one file each over: such a mount is no directory."""


def is_pseudo(mount: Mount, without_device: frozenset[str]) -> bool:
    """The mount cannot hold files: a window into the kernel, or a scaffold for such windows below /proc and /sys.

    An unknown type is one where the kernel needs no device for it and its source names neither a path nor a server.
    """
    if (
        mount.fstype in _PSEUDO
        or mount.mount_point.startswith(("/proc/", "/sys/"))
        or mount.mount_point in _SINGLE_FILES
    ):
        return True
    if mount.fstype in _WITHOUT_DEVICE or is_remote(mount.fstype):
        return False
    return mount.fstype in without_device and not any(mark in mount.source for mark in "/:\\")
