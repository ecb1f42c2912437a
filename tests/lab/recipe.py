"""What the guest images are made of. An image is named after its recipe's digest, so a changed one is built anew."""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec

CHECKOUT = Path(__file__).resolve().parents[2]
CODE = Path(__file__).parent
GUEST = CODE / "guest"

PACKAGES = (
    "python3-minimal", "libpython3-stdlib", "busybox-static", "kmod", "udev", "util-linux", "mount", "e2fsprogs",
    "xfsprogs", "btrfs-progs", "lvm2", "dmsetup", "thin-provisioning-tools", "cryptsetup-bin", "mdadm",
    "bcache-tools", "hdparm", "nvme-cli", "libeatmydata1",
)  # fmt: skip
KERNEL = "linux-image-amd64"
"""Not the cloud kernel: that one has no AHCI, USB or SAS drivers."""
MODULES = (
    "fs", "lib", "crypto", "arch/x86/crypto", "drivers/md", "drivers/block", "drivers/scsi", "drivers/ata",
    "drivers/nvme", "drivers/virtio", "drivers/message/fusion", "drivers/usb/host", "drivers/usb/core",
    "drivers/usb/common", "drivers/usb/storage", "drivers/char/virtio_console.ko", "drivers/char/hw_random",
)  # fmt: skip
"""What is kept of the kernel's modules."""
BOOT_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
"""Loaded by the initrd, to reach the root image."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """One image: Debian's packages, and those that are compiled in it against its kernel."""

    name: str
    packages: tuple[str, ...] = PACKAGES
    kernel: str = KERNEL
    modules: tuple[str, ...] = MODULES
    boot_modules: tuple[str, ...] = BOOT_MODULES
    built: tuple[str, ...] = ()
    """Packages of the contrib section that compile kernel modules."""
    requirements: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Of the recipe, of the guest's own files, and of the code that builds."""
        digest = hashlib.sha256(msgspec.json.encode(self))
        for file in (GUEST / "start", GUEST / "initrd-init", CODE / "image.py", CODE / "initrd.py"):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:12]


def requirements() -> tuple[str, ...]:
    """What fstui itself needs of the package index."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return tuple(project["dependencies"])


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(name="base", requirements=requirements()),
        Recipe(name="zfs", requirements=requirements(), built=("zfs-dkms", "zfsutils-linux")),
    )
}
