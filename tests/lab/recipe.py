"""The recipes of the guest images. An image is named after its recipe's digest, so a changed recipe is built again."""

import hashlib
import tomllib
from pathlib import Path
from typing import Literal, get_args

import msgspec

CHECKOUT = Path(__file__).resolve().parents[2]
CODE = Path(__file__).parent
GUEST = CODE / "guest"

Kernel = Literal["6.1", "6.12"]
Kind = Literal["base", "zfs", "ssh"]
RELEASES: dict[Kernel, str] = {"6.1": "bookworm", "6.12": "trixie"}
"""The Debian release with each kernel."""
PACKAGES = (
    "python3-minimal", "libpython3-stdlib", "busybox-static", "kmod", "udev", "util-linux", "mount", "e2fsprogs",
    "xfsprogs", "btrfs-progs",
    "lvm2", "dmsetup", "thin-provisioning-tools", "cryptsetup-bin", "mdadm", "multipath-tools", "bcache-tools",
    "ksmbd-tools", "hdparm", "smartmontools", "nvme-cli", "libeatmydata1", "open-iscsi",
)  # fmt: skip
KERNEL_PACKAGE = "linux-image-amd64"
"""The cloud kernel has no AHCI, USB or SAS drivers."""
MODULES = (
    "fs", "lib", "crypto", "arch/x86/crypto", "drivers/md", "drivers/block", "drivers/scsi", "drivers/ata",
    "drivers/nvme", "drivers/virtio", "drivers/message/fusion", "drivers/usb/host", "drivers/usb/core",
    "drivers/usb/common", "drivers/usb/storage", "drivers/char/virtio_console.ko", "drivers/char/hw_random",
    "drivers/mmc", "drivers/target",
)  # fmt: skip
"""The kernel modules that are kept."""
BOOT_MODULES = ("virtio_pci", "virtio_blk", "crc32c_generic", "ext4")
"""Loaded by the initrd to mount the root image."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """One image: packages of a Debian release, and packages that are compiled against its kernel."""

    name: str
    release: str
    packages: tuple[str, ...] = PACKAGES
    kernel_package: str = KERNEL_PACKAGE
    modules: tuple[str, ...] = MODULES
    boot_modules: tuple[str, ...] = BOOT_MODULES
    built: tuple[str, ...] = ()
    """Packages of the contrib section that compile kernel modules."""
    requirements: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    """Packages of database servers, of which none is started."""

    @property
    def digest(self) -> str:
        """The digest of the recipe, of the initrd's program, and of the code that builds."""
        digest = hashlib.sha256(msgspec.json.encode(self))
        for file in (GUEST / "initrd-init", CODE / "bootstrap.py", CODE / "initrd.py"):
            digest.update(file.read_bytes())
        return digest.hexdigest()[:12]


def requirements() -> tuple[str, ...]:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    return tuple(project["dependencies"])


def _recipes(kernel: Kernel, release: str) -> dict[Kind, Recipe]:
    base = Recipe(name=f"base-{kernel}", release=release, requirements=requirements())
    zfs = msgspec.structs.replace(base, name=f"zfs-{kernel}", built=("zfs-dkms", "zfsutils-linux"))
    ssh = msgspec.structs.replace(
        base,
        name=f"ssh-{kernel}",
        packages=(*PACKAGES, "openssh-server", "iproute2"),
        modules=(*MODULES, "drivers/net/virtio_net.ko"),
        servers=("postgresql", "mariadb-server-core", "sysbench"),
    )
    return {"base": base, "zfs": zfs, "ssh": ssh}


KERNELS: tuple[Kernel, ...] = get_args(Kernel)
KINDS: tuple[Kind, ...] = get_args(Kind)
RECIPES = {kernel: _recipes(kernel, release) for kernel, release in RELEASES.items()}
