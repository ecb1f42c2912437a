"""The virtual machines of a host: what happens to a guest's flush on each disk, and where the image is stored."""

from collections.abc import Iterator, Mapping, Sequence

from fstui.model.guests import Guest, GuestDisk, GuestFlush, Hypervisor
from fstui.model.host import Inventory
from fstui.report.sections import Row, Section, glyph_cell
from fstui.report.stack import stack_line
from fstui.report.text import GLYPHS, NONE

FLUSH_TEXTS: Mapping[GuestFlush, str] = {
    "passed": "passed on",
    "each write": "not needed: each write is synced",
    "ignored": "ignored",
    "discarded": "ignored, all writes are discarded",
    "unknown": "unknown",
}
TITLES: Mapping[Hypervisor, str] = {
    "qemu": "QEMU", "libvirt": "QEMU by libvirt", "proxmox": "Proxmox", "firecracker": "Firecracker",
    "cloud-hypervisor": "cloud-hypervisor",
}  # fmt: skip
_HEADER = ("", "VM", "DISK", "CACHE", "A GUEST'S FLUSH", "IMAGE", "STORED ON")
_CONSEQUENCE = "Data that the guest has synced is lost if this host crashes or loses power."
_TEMPORARY_FILE = "QEMU writes to a temporary file, which it removes when it ends."
_RESTART = "Then shut the guest down and start it again: a reboot inside it changes nothing."


def sections(guests: Sequence[Guest], inventory: Inventory) -> Iterator[Section]:
    rows = [row for guest in guests for row in _rows(guest, inventory)]
    troubles = dict.fromkeys(f"{guest.title}: {guest.trouble}." for guest in guests if guest.trouble)
    yield Section("Virtual machines", _HEADER, tuple(rows), tuple(troubles))
    for guest in guests:
        if guest.lossy_disks:
            names = ", ".join(disk.name for disk in guest.lossy_disks)
            discarded = any(disk.flush == "discarded" for disk in guest.lossy_disks)
            evidence = tuple(f"{disk.name}: {disk.reason}" for disk in guest.lossy_disks)
            yield Section(
                f"{GLYPHS['not-durable']} {guest.title}: flushes of {names} are ignored",
                lines=(_CONSEQUENCE, *([_TEMPORARY_FILE] if discarded else [])),
                points=(
                    ("because", (*evidence, f"read from: {guest.read_from}")),
                    ("next", (_next_step(guest, discarded),)),
                ),
                style="not-durable",
            )


def stored_on(disk: GuestDisk, inventory: Inventory) -> str:
    """Return the filesystem or the device of this host that holds the image, with its stack."""
    target = next((target for target in inventory.filesystems if target.mount_point == disk.mount_point), None)
    if target is not None:
        return f"{target.mount_point}: {stack_line(target)}"
    node = next((device for device in inventory.unused if device.id == disk.device), None)
    if node is not None and node.name != node.id:
        return f"{node.id}: {node.name}"
    return disk.device or disk.mount_point or NONE


def _rows(guest: Guest, inventory: Inventory) -> Iterator[Row]:
    for disk in guest.disks:
        losing = disk in guest.lossy_disks
        sign = glyph_cell("not-durable" if losing else "cannot-tell" if disk.flush == "unknown" else None)
        flush = f"{FLUSH_TEXTS[disk.flush]}: {disk.reason}" if disk.flush == "unknown" else FLUSH_TEXTS[disk.flush]
        yield sign, guest.label, disk.name, disk.cache or NONE, flush, disk.image or NONE, stored_on(disk, inventory)
    if not guest.disks:
        sign = glyph_cell("cannot-tell" if guest.trouble else None)
        yield sign, guest.label, NONE, NONE, "unknown" if guest.trouble else "no disk that it can write to", NONE, NONE


def _next_step(guest: Guest, discarded: bool) -> str:
    if discarded:
        return "Start the guest without -snapshot if its data must last."
    if guest.hypervisor == "proxmox":
        return f"Change 'cache=unsafe' in 'qm config {guest.number}' to 'cache=none' with 'qm set'. {_RESTART}"
    if guest.hypervisor == "libvirt":
        return f"Change cache='unsafe' to cache='none' with 'virsh edit', in the driver element of the disk. {_RESTART}"
    if guest.hypervisor == "firecracker":
        return 'Configure the drive with "cache_type": "Writeback", and start the guest again.'
    return "Start QEMU with cache=none or cache=writeback, and without cache.no-flush."
