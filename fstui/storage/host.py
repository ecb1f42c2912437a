"""This host: name, kernel, hypervisor and cloud, from /proc and /sys."""

import re
from collections.abc import Mapping
from pathlib import Path

from fstui import proc
from fstui.model.host import Host
from fstui.storage.layers.devices import platforms
from fstui.storage.tree import UDEV_DATABASE, Tree

_DMI = "/sys/class/dmi/id"
_DMI_NAMES = ("sys_vendor", "product_name", "product_version", "board_vendor", "bios_vendor", "chassis_asset_tag")

_CLOUDS = (
    (r"Amazon EC2|\d\.amazon\b", "aws"),
    (r"Google Compute Engine", "gcp"),
    ("7783-7084-3265-9085-8269-3286-77", "azure"),  # the chassis asset tag
    (r"OracleCloud", "oracle"),
    (r"DigitalOcean", "digitalocean"),
    (r"Hetzner", "hetzner"),
    (r"Alibaba Cloud", "alibaba"),
    (r"Scaleway", "scaleway"),
    (r"Vultr", "vultr"),
    (r"Linode|Akamai", "linode"),
    (r"Tencent Cloud", "tencent"),
    (r"Exoscale", "exoscale"),
    (r"UpCloud", "upcloud"),
    (r"OpenStack", "openstack"),
)

_GUEST_BUSES = ("virtio", "vmbus", "xen")


def read_host(root: Path = Path("/")) -> Host:
    tree = Tree(root)
    kernel = tree.stripped("/proc/sys/kernel/osrelease") or ""
    dmi = {name: tree.stripped(f"{_DMI}/{name}") or "" for name in _DMI_NAMES}
    return Host(
        hostname=tree.stripped("/proc/sys/kernel/hostname") or "",
        kernel=kernel,
        virtualization=platforms.hypervisor(release=kernel) or _hypervisor(tree, dmi) or _container(tree),
        cloud=next((name for pattern, name in _CLOUDS if re.search(pattern, " ".join(dmi.values()))), None),
        cpus=_cpus(tree.stripped("/sys/devices/system/cpu/online") or ""),
        memory_bytes=proc.meminfo(tree.text("/proc/meminfo") or "").get("MemTotal", 0),
        udev=tree.exists(UDEV_DATABASE),
    )


def _hypervisor(tree: Tree, dmi: Mapping[str, str]) -> str | None:
    cpus = tree.text("/proc/cpuinfo")
    has_guest_flag = cpus is not None and re.search(r"^flags\b.*\bhypervisor\b", cpus, re.MULTILINE) is not None
    if tree.stripped("/sys/hypervisor/type") == "xen":
        return "xen"
    if dmi["sys_vendor"] == "Microsoft Corporation" and "Virtual Machine" in dmi["product_name"]:
        return "microsoft"
    name = platforms.hypervisor(dmi=" ".join(dmi.values()))
    # a bare-metal instance also has its cloud's name in DMI, so on x86 the flag "hypervisor" is required
    is_x86 = cpus is not None and re.search(r"^flags\b", cpus, re.MULTILINE) is not None
    if name is not None and (has_guest_flag or not is_x86):
        return name
    if _is_firecracker(tree):
        return "firecracker"
    if not has_guest_flag:
        # Apple's virtualization, ARM and crosvm set no flag: look for buses that exist only under a hypervisor
        return "unknown hypervisor" if any(tree.names(f"/sys/bus/{bus}/devices") for bus in _GUEST_BUSES) else None
    clocks = tree.stripped("/sys/devices/system/clocksource/clocksource0/available_clocksource") or ""
    return "kvm" if "kvm-clock" in clocks else "microsoft" if "hyperv" in clocks else "unknown hypervisor"


def _is_firecracker(tree: Tree) -> bool:
    """Return whether this is a guest of Firecracker, which provides no DMI. Only root can read the ACPI table."""
    table = tree.data("/sys/firmware/acpi/tables/DSDT", 36)
    if table is not None:
        return table[10:16] == b"FIRECK"  # the OEM id of the table header
    if tree.names(_DMI):
        return False
    if "VMGENCTR:00" in tree.names("/sys/bus/acpi/devices"):  # QEMU and libkrun name this device differently
        return True
    options = (tree.stripped("/proc/cmdline") or "").split()
    has_usual_options = {"reboot=k", "panic=1"} <= set(options)
    return has_usual_options and any(word == "pci=off" or word.startswith("virtio_mmio.device=") for word in options)


def _container(tree: Tree) -> str | None:
    kind = tree.stripped("/run/systemd/container")
    if kind is not None:
        return kind
    environment = (tree.text("/proc/1/environ") or "").split("\0")
    return next((word.removeprefix("container=") for word in environment if word.startswith("container=")), None)


def _cpus(online: str) -> int:
    """Return the number of CPUs in a list: 5 for ``0-3,6``."""
    ranges = re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", online)
    return sum(int(last or first) - int(first) + 1 for first, last in ranges)
