import pytest

from fstui.storage.host import read_host
from tests.factories.box import Box

GUEST = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm"
METAL = "processor\t: 0\nflags\t\t: fpu vme lahf_lm"
ARM = "processor\t: 0\nFeatures\t: fp asimd"


def test_host_name_kernel_cpus_and_memory(box: Box) -> None:
    box.write("/proc/sys/kernel/hostname", "db7")
    box.write("/proc/sys/kernel/osrelease", "6.8.0-45-generic")
    box.write("/sys/devices/system/cpu/online", "0-3,6")
    box.write("/proc/meminfo", "MemTotal:       24684084 kB\nMemFree:  1 kB")
    host = read_host(box.root)
    assert (host.hostname, host.kernel, host.cpus, host.memory_bytes) == (
        "db7", "6.8.0-45-generic", 5, 24684084 * 1024,
    )  # fmt: skip
    assert not host.udev


@pytest.mark.parametrize(("vendor", "product", "virtualization", "cloud"), [
    ("QEMU", "QEMU Virtual Machine", "kvm", None), ("innotek GmbH", "VirtualBox", "virtualbox", None),
    ("VMware, Inc.", "VMware7,1", "vmware", None), ("Microsoft Corporation", "Virtual Machine", "microsoft", None),
    ("Amazon EC2", "m5d.xlarge", "kvm", "aws"), ("Google", "Google Compute Engine", "kvm", "gcp"),
    ("Hetzner", "vServer", "kvm", "hetzner"), ("DigitalOcean", "Droplet", "kvm", "digitalocean"),
    ("Xen", "HVM domU 4.11.amazon", "xen", "aws"),
    ("Cloud Hypervisor", "cloud-hypervisor", "cloud-hypervisor", None),
    ("Apple Inc.", "Apple Virtualization Generic Platform", "apple", None),
])  # fmt: skip
def test_dmi_names_hypervisor_and_cloud(
    box: Box, vendor: str, product: str, virtualization: str, cloud: str | None
) -> None:
    box.dmi(sys_vendor=vendor, product_name=product)
    for cpus in (GUEST, ARM):
        box.write("/proc/cpuinfo", cpus)
        host = read_host(box.root)
        assert (host.virtualization, host.cloud) == (virtualization, cloud)


def test_azure_has_an_asset_tag(box: Box) -> None:
    box.dmi(sys_vendor="Microsoft Corporation", product_name="Virtual Machine",
        chassis_asset_tag="7783-7084-3265-9085-8269-3286-77")  # fmt: skip
    assert read_host(box.root).cloud == "azure"


def test_bare_metal_cloud_instance_has_no_hypervisor(box: Box) -> None:
    box.write("/proc/cpuinfo", METAL)
    box.dmi(sys_vendor="Amazon EC2", product_name="i3.metal")
    host = read_host(box.root)
    assert (host.virtualization, host.cloud) == (None, "aws")


@pytest.mark.parametrize(("files", "virtualization"), [
    ({"/sys/firmware/acpi/tables/DSDT": b"DSDT\x53\x0f\0\0\x02\x77FIRECKFCVMDSDT\0\0\0\0FCAT"}, "firecracker"),
    ({"/proc/cmdline": b"console=ttyS0 reboot=k panic=1 pci=off root=/dev/vda"}, "firecracker"),
    ({"/proc/cmdline": b"reboot=k panic=1 virtio_mmio.device=4K@0xd0000000:5"}, "firecracker"),
    ({"/sys/bus/acpi/devices/VMGENCTR:00/hid": b"VMGENCTR"}, "firecracker"),
    ({"/sys/bus/acpi/devices/QEMUVGID:00/hid": b"QEMUVGID"}, "unknown hypervisor"),
    ({"/sys/devices/system/clocksource/clocksource0/available_clocksource": b"kvm-clock tsc \n"}, "kvm"),
    ({"/sys/hypervisor/type": b"xen\n"}, "xen"),
    ({}, "unknown hypervisor"),
])  # fmt: skip
def test_guest_without_dmi(box: Box, files: dict[str, bytes], virtualization: str) -> None:
    box.write("/proc/cpuinfo", GUEST)
    for path, content in files.items():
        box.write(path, content)
    assert read_host(box.root).virtualization == virtualization


@pytest.mark.parametrize("bus", ["virtio", "vmbus", "xen"])
@pytest.mark.parametrize("cpus", [METAL, ARM], ids=["crosvm", "ARM"])
def test_virtual_devices_reveal_a_guest_without_flag(box: Box, bus: str, cpus: str) -> None:
    box.write("/proc/cpuinfo", cpus)
    assert read_host(box.root).virtualization is None
    box.write(f"/sys/bus/{bus}/devices/0/uevent", "")
    assert read_host(box.root).virtualization == "unknown hypervisor"


def test_wsl_is_recognised_by_its_kernel(box: Box) -> None:
    """WSL2 has no DMI, and its clock only shows Hyper-V."""
    box.write("/proc/cpuinfo", GUEST)
    box.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2")
    box.write("/sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hyperv_clocksource_tsc_page")
    assert read_host(box.root).virtualization == "wsl"
    box.write("/proc/sys/kernel/osrelease", "5.15.0-1074-azure")
    assert read_host(box.root).virtualization == "microsoft"


def test_container_on_real_hardware(box: Box) -> None:
    box.write("/proc/cpuinfo", METAL)
    box.write("/proc/1/environ", b"PATH=/bin\0container=podman\0")
    assert read_host(box.root).virtualization == "podman"
