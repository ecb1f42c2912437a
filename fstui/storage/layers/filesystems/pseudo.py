"""Windows into the kernel, and scaffolds for them: they hold no files."""

from fstui.storage.layers.kinds import Kind

_NAMES = (
    "proc", "sysfs", "cgroup", "cgroup2", "cpuset", "devpts", "securityfs", "debugfs", "tracefs", "bpf", "mqueue",
    "hugetlbfs", "nsfs", "rpc_pipefs", "autofs", "binfmt_misc", "configfs", "efivarfs", "pstore", "selinuxfs",
    "smackfs", "resctrl", "fusectl", "nfsd", "sockfs", "pipefs", "anon_inodefs", "bdev", "xenfs", "usbfs",
    "openpromfs", "spufs", "functionfs", "gadgetfs", "binder", "dax", "drm", "secretmem", "guest_memfd",
)  # fmt: skip

KINDS = tuple(Kind(name=name, layer="filesystem", pseudo=True) for name in _NAMES)
