"""Common production setups: made-up hosts with typical times, and the page that shows what fstui says about them.

Run ``python -m tests.judge.setups`` after a change of setups.toml or of a rule, and read the difference of the page.
"""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fstui.model.judgement import Answer, Confidence, Judgement, Verdict
from fstui.model.steps import Step
from fstui.report.text import speed_word
from fstui.storage.layers.devices import platforms
from fstui.storage.survey import survey
from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.box import Box
from tests.factories.evidence import quiet, verdict
from tests.factories.growth import AMOUNTS, flushes
from tests.factories.looking import target
from tests.factories.steps import flushed, forced, own_time, timed, write

DATA = Path(__file__).with_suffix(".toml")
DOCS = Path(__file__).parents[2] / "fstui/docs"
_VMBUS = "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/MSFT1000:00/{}-1e82-4818-a1c3-63d806ec15bb/host1/target1:0:0/1:0:0:{}"
HOMES = {
    "nvme": "pci0000:00/0000:0{}:1f.0/nvme/nvme{}",
    "nvme-tcp": "virtual/nvme-fabrics/ctl/nvme{}",
    "sata": "pci0000:00/0000:00:1f.2/ata{0}/host{0}/target{0}:0:0/{0}:0:0:0",
    "sas": "pci0000:00/0000:05:00.0/host{0}/port-{0}:0/end_device-{0}:0/target{0}:0:0/{0}:0:0:0",
    "scsi": "pci0000:00/0000:03:00.0/host{0}/target{0}:0:0/{0}:0:0:0",
    "fc": "pci0000:00/0000:06:00.0/host{0}/rport-{0}:0-0/target{0}:0:0/{0}:0:0:0",
    "iscsi": "platform/host{0}/session{0}/target{0}:0:0/{0}:0:0:0",
    "usb": "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host{0}/target{0}:0:0/{0}:0:0:0",
    "mmc": "platform/mmc{0}/mmc_host/mmc{0}/mmc{0}:0001",
    "virtio": "pci0000:00/0000:00:04.0/virtio{0}",
    "virtio-scsi": "pci0000:00/0000:00:03.0/virtio0/host{0}/target{0}:0:1/{0}:0:1:0",
    "xen": "vbd-5171{}",
    "rbd": "virtual",
    "drbd": "virtual",
    "vmbus-data": _VMBUS.format("f8b3781b", 0),
    "vmbus-os": _VMBUS.format("f8b3781a", 0),
    "vmbus-temporary": _VMBUS.format("f8b3781a", 1),
    "vmbus-other": _VMBUS.format("4d2c1a00", 0),
}
"""Where a disk on that link is in /sys/devices; {0} numbers the disks."""
HOSTS: dict[str, dict[str, str]] = {
    "metal": {},
    "aws": {"sys_vendor": "Amazon EC2"},
    "gcp": {"product_name": "Google Compute Engine"},
    "azure": {
        "sys_vendor": "Microsoft Corporation",
        "product_name": "Virtual Machine",
        "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77",
    },
    "aws-xen": {"sys_vendor": "Xen", "product_name": "HVM domU", "product_version": "4.11.amazon"},
    "alibaba": {"sys_vendor": "Alibaba Cloud"},
    "oci": {"sys_vendor": "QEMU", "chassis_asset_tag": "OracleCloud.com"},
    "digitalocean": {"sys_vendor": "DigitalOcean"},
    "hetzner": {"sys_vendor": "Hetzner"},
    "linode": {"sys_vendor": "Linode", "product_name": "KVM"},
    "vultr": {"sys_vendor": "Vultr", "product_name": "KVM"},
    "openstack": {"sys_vendor": "OpenStack Foundation"},
    "ibm": {"sys_vendor": "QEMU", "chassis_asset_tag": "ibmcloud"},
    "scaleway": {"sys_vendor": "Scaleway"},
    "tencent": {"sys_vendor": "Tencent Cloud"},
    "upcloud": {"sys_vendor": "UpCloud"},
    "vmware": {"sys_vendor": "VMware, Inc.", "product_name": "VMware7,1"},
    "hyperv": {"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"},
    "kvm": {"sys_vendor": "QEMU"},
    "ovirt": {"sys_vendor": "oVirt"},
    "virtualbox": {"product_name": "VirtualBox"},
    "bhyve": {"product_name": "BHYVE"},
    "parallels": {"product_name": "Parallels Virtual Platform"},
    "cloud-hypervisor": {"sys_vendor": "Cloud Hypervisor"},
    "apple": {"product_name": "Apple Virtualization Generic Platform"},
    "xen": {"sys_vendor": "Xen", "product_name": "HVM domU"},
    "wsl": {"release": "5.15.167.4-microsoft-standard-WSL2"},
    "docker-desktop": {"release": "6.10.14-linuxkit"},
    "firecracker": {"cmdline": "reboot=k panic=1 pci=off"},
}
"""Files of /sys/class/dmi/id; ``release`` and ``cmdline`` of the kernel."""
_NAMES = {"nvme": "nvme{}n1", "nvme-tcp": "nvme0c{}n1", "virtio": "vd{}", "mmc": "mmcblk{}", "xen": "xvd{}"}
_NAMES |= {"rbd": "rbd{}", "drbd": "drbd{}"}
MEMBERS = {"raid1": 2, "ppl": 3, "multipath": 2}


class Setup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of setups.toml."""

    name: str
    host: str = "metal"
    link: str = "virtio"
    model: str | None = None
    cache: str = "back"
    says: dict[str, int | str] = {}
    fs: str = "ext4"
    mounted: str | None = None
    """The source of a filesystem without a disk."""
    layers: str = ""
    us: tuple[float, float]
    grows: bool = False
    verdict: Verdict
    confidence: Confidence = "low"
    speed: Answer = "normal"
    source: str

    @property
    def flushed(self) -> bool:
        """Whether flushes reach the disk."""
        return self.cache == "back" and self.layers not in {"nobarrier", "overlay volatile"}

    @property
    def expects_flushes(self) -> bool:
        """Whether missing flushes are reported: a device counts them, and each layer above it is known."""
        return self.flushed and not self.mounted and self.link != "drbd" and self.layers != "ppl"


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the table."""

    group: str
    rows: tuple[Setup, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    setup: tuple[Group, ...]


def groups() -> tuple[Group, ...]:
    return msgspec.toml.decode(DATA.read_bytes(), type=_File).setup


_JUDGED: dict[tuple[str, str], Judgement] = {}


def judged(setup: Setup, scenario: str) -> Judgement:
    """Return what fstui says about the setup after steps like those of this scenario."""
    if (setup.name, scenario) not in _JUDGED:
        with tempfile.TemporaryDirectory() as made:
            box = Box(Path(made))
            names, tool_outputs = _build(box, setup)
            here = survey(box.root, tool_outputs)
            steps = _steps(setup, names, scenario)
            found = verdict(target(here, "/srv"), *steps, host=here.host, idle=quiet(*names))
        _JUDGED[setup.name, scenario] = found
    return _JUDGED[setup.name, scenario]


def _build(box: Box, setup: Setup) -> tuple[tuple[str, ...], ToolOutputs]:
    """Create the host. Return the names of its disks, and the output of its tools."""
    _host(box, HOSTS[setup.host])
    if setup.mounted:
        box.mount(setup.mounted, "/srv", setup.fs, device="0:51")
        return (), {}
    names: list[str] = []
    tool_outputs: dict[str, ToolOutput] = {}
    for number in range(MEMBERS.get(setup.layers, 1)):
        name = _NAMES.get(setup.link, "sd{}").format("abc"[number] if setup.link in _LETTERS else number)
        names.append(name)
        tool_outputs |= _disk(box, setup, name, number)
    _layers(box, setup, tuple(names))
    return tuple(names), tool_outputs


_LETTERS = {"sata", "sas", "scsi", "fc", "iscsi", "usb", "virtio-scsi", "virtio", "xen"}
_LETTERS |= {home for home in HOMES if home.startswith("vmbus")}


def _host(box: Box, files: Mapping[str, str]) -> None:
    box.write("/proc/cpuinfo", "flags : hypervisor" if files else "flags : fpu")
    for name, content in files.items():
        place = {"release": "/proc/sys/kernel/osrelease", "cmdline": "/proc/cmdline"}
        box.write(place.get(name, f"/sys/class/dmi/id/{name}"), content)


def _disk(box: Box, setup: Setup, name: str, number: int) -> ToolOutputs:
    says, files = setup.says, _model(setup)
    if "wce" in says:
        kind = "write back" if says["wce"] else "write through"
        files[f"device/scsi_disk/{number}:0:0:0/cache_type"] = kind
    if "rpm" in says:
        rpm, form = int(says["rpm"]), int(says["form"])
        files["device/vpd_pgb1"] = bytes([0, 0xB1, 0, 0x3C]) + rpm.to_bytes(2, "big") + bytes([0, form]) + bytes(56)
    if setup.link == "virtio":
        bits = ["0"] * 64
        bits[9] = str(says.get("flush", 1))
        files["device/features"] = "".join(bits)
    if setup.link == "nvme-tcp":
        files["device/transport"] = "tcp"
        box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    home = HOMES[setup.link].format(number + 1, number)
    rotational = int(int(says.get("rpm", 0)) > 1)
    box.disk(name, home, write_cache=f"write {setup.cache}", rotational=rotational, files=files)
    if "driver" in says:
        box.link("/sys/devices/pci0000:00/0000:03:00.0/driver", f"../../../bus/pci/drivers/{says['driver']}")
    if "vwc" not in says:
        return {}
    return {f"nvme id-ctrl /dev/{name} -o json": ToolOutput(output=f'{{"vwc": {says["vwc"]}}}')}


def _model(setup: Setup) -> dict[str, str | bytes]:
    if setup.model is None:
        return {}
    if setup.link.startswith("nvme"):
        return {"device/model": setup.model}
    if setup.link == "sata":
        return {"device/vendor": "ATA", "device/model": setup.model}
    vendor, _, model = setup.model.partition(" ")
    return {"device/vendor": vendor, "device/model": model}


def _layers(box: Box, setup: Setup, names: tuple[str, ...]) -> None:
    """Mount a filesystem on the disks."""
    top = f"/dev/{'nvme0n1' if setup.link == 'nvme-tcp' else names[0]}"
    if setup.layers in MEMBERS and setup.layers != "multipath":
        policy = {"consistency_policy": "ppl"} if setup.layers == "ppl" else {}
        box.md("md0", "raid5" if setup.layers == "ppl" else "raid1", names, **policy)
        top = "/dev/md0"
    if setup.layers == "luks":
        box.dm("dm-0", "vg-lv", "LVM-x", names)
        box.dm("dm-1", "luks", "CRYPT-LUKS2-x", ("dm-0",))
    if setup.layers == "multipath":
        box.dm("dm-0", "mpatha", "mpath-x", names, write_cache=f"write {setup.cache}")
    if setup.layers.startswith("overlay"):
        box.mount(top, "/", setup.fs)
        options = "rw,upperdir=/var/lib/docker/overlay2/ab/diff"
        box.mount("overlay", "/srv", "overlay", super_options=f"{options},{setup.layers.partition(' ')[2]}".rstrip(","))
        return
    dm = {"luks": "dm-1", "multipath": "dm-0"}.get(setup.layers)
    options = "rw,nobarrier" if setup.layers == "nobarrier" else "rw"
    mapped = f"/dev/mapper/{'luks' if dm == 'dm-1' else 'mpatha'}" if dm else top
    box.mount(mapped, "/srv", setup.fs, super_options=options, **({"device": box.number_of[dm]} if dm else {}))


def _steps(setup: Setup, names: tuple[str, ...], scenario: str) -> tuple[Step, ...]:
    """Return steps with the times of the setup. All flushes and bytes arrive, except in the scenario "no flushes"."""
    raw_us, synced_us = setup.us
    share = {"multipath": 1 / len(names or "-"), "ppl": 0.8}.get(setup.layers, 1.0)
    late = 0.0 if setup.layers == "overlay volatile" else share
    each = {"ppl": 0.4, "multipath": share}.get(setup.layers, 1.0)
    arrived = dict.fromkeys(names, each * (setup.flushed and scenario != "no flushes"))
    synced: dict[str, Any] = {"flushes": arrived, "share": dict.fromkeys(names, late)}
    plain: dict[str, Any] = {"flushes": dict.fromkeys(names, 0.0), "share": dict.fromkeys(names, share)}
    ms = synced_us / 1000 if setup.grows or "rpm" in setup.says else 0.0
    commit = own_time(flushed(synced_us, **synced), ms)
    same = own_time(flushed(synced_us, offsets="same", **synced), ms)
    dsync = forced(synced_us, **synced)
    if scenario == "check":
        return same, dsync
    if scenario == "fsync-rate":
        return commit, timed("fsync", synced_us * 1.1, sync="fsync", **synced), dsync
    us = [synced_us - raw_us + (400 * amount / (1 << 20) if setup.grows else 0) + 20 for amount in AMOUNTS]
    own = dict.fromkeys(names, 1.0) if setup.grows else {}
    growth = (flushes(us, own=own),) if names and setup.flushed and setup.layers != "ppl" else ()
    return write(raw_us, **plain), dsync, commit, same, *growth


def page() -> str:
    tables = "\n".join(f"\n## {group.group}\n\n{_table(group)}" for group in groups())
    return f"""# What fstui says about common setups

Each row is a simulated host with typical latencies, judged as if `odirect-truth` had run on it. These are not
measurements, so the verdict on your host may differ. In a guest and behind a network, "consistent" and "plausible" with
low confidence are normal, because fstui cannot see the device that stores the data. The last column states why fstui
gives this verdict, or names the source.
{tables}
"""


def _table(group: Group) -> str:
    lines = ["| setup | verdict | confidence | speed | why |", "|---|---|---|---|---|"]
    for setup in group.rows:
        found = judged(setup, "odirect-truth")
        cells = (setup.name, found.verdict, found.confidence, speed_word(found.speed.answer), setup.source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def platforms_page() -> str:
    rows = "\n".join(
        "| "
        + " | ".join(
            text.replace("|", r"\|")
            for text in (row.title, row.recognised_by, row.flush_default, row.how_to_check, row.source)
        )
        + " |"
        for row in sorted(platforms.table(), key=lambda row: row.title.lower())
    )
    return f"""# What platforms do with a flush

The table shows what hypervisors and storage services do by default with a flush of a guest or client. It also shows how
fstui recognises them, and where to look up the setting of your host. The platform affects the verdict:

- The platform's provider documents that an acknowledged sync is durable: "plausible" with low confidence.
- The platform's documentation says that the platform ignores flushes: "cannot-tell", unless fstui measured that a flush
  takes longer if more data is unsynced.
- A flush only moves data from the host's memory to the drive's cache, and leaves it there: "cannot-tell", even then.
  The rule `ignored-by-default` says when a declared medium changes this and the previous verdict.
- No document says what the platform does with a flush: usually "consistent" with low confidence, if the expected
  flushes arrive.

| platform | recognised by | what it does by default | where to look | source |
|---|---|---|---|---|
{rows}
"""


PAGES: dict[str, Callable[[], str]] = {"common-setups": page, "platforms": platforms_page}


if __name__ == "__main__":
    for name, written in PAGES.items():
        (DOCS / f"{name}.md").write_text(written())
