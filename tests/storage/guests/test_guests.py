"""Guests from made-up /proc trees, with arguments as Proxmox, libvirt, Firecracker and cloud-hypervisor give them."""

import json
import os
import threading
from pathlib import Path

import msgspec
import pytest

from fstui.model.guests import Guest
from fstui.storage import guests
from fstui.storage.guests import find_pids, qemu, read_guests
from tests.factories.box import Box
from tests.hostile import NAME


def split(text: str) -> list[str]:
    return text.split(" ")


PROXMOX = split(
    "/usr/bin/kvm -id 104 -name web,debug-threads=on -no-shutdown "
    "-chardev socket,id=qmp,path=/var/run/qemu-server/104.qmp,server=on,wait=off -mon chardev=qmp,mode=control "
    "-chardev socket,id=qmp-event,path=/var/run/qmeventd.sock,reconnect=5 -mon chardev=qmp-event,mode=control "
    "-pidfile /var/run/qemu-server/104.pid -daemonize -smp 4,sockets=1,cores=4,maxcpus=4 -nodefaults "
    "-drive if=pflash,unit=1,id=drive-efidisk0,format=raw,file=/dev/pve/vm-104-disk-0,size=540672 "
    "-device virtio-scsi-pci,id=virtioscsi0,bus=pci.3,addr=0x1,iothread=iothread-virtioscsi0 "
    "-drive file=/var/lib/vz/template/iso/win.iso,if=none,id=drive-ide2,media=cdrom,aio=io_uring "
    "-device ide-cd,bus=ide.1,unit=0,drive=drive-ide2,id=ide2,bootindex=101 "
    "-drive file=/dev/pve/vm-104-disk-1,if=none,id=drive-scsi0,cache=unsafe,format=raw,aio=io_uring,detect-zeroes=on "
    "-device scsi-hd,bus=virtioscsi0.0,scsi-id=0,lun=0,drive=drive-scsi0,id=scsi0,bootindex=100"
)
"""As "qm showcmd" prints it."""
NINE = {
    "driver": "throttle", "node-name": "drive-scsi1", "throttle-group": "throttle-drive-scsi1",
    "file": {
        "driver": "raw", "cache": {"direct": True, "no-flush": False},
        "file": {"driver": "host_device", "filename": "/dev/pve/vm-104-disk-2", "cache": {"direct": True}},
    },
}  # fmt: skip
LIBVIRT = [
    *split("/usr/bin/qemu-system-x86_64 -name guest=db,debug-threads=on -S"),
    *["-object", '{"qom-type":"secret","id":"masterKey0","file":"/var/lib/libvirt/qemu/domain-1-db/master-key.aes"}'],
    *split("-nodefaults -chardev socket,id=charmonitor,fd=33,server=on,wait=off"),
    *split("-mon chardev=charmonitor,id=monitor,mode=control"),
    "-blockdev",
    '{"driver":"file","filename":"/var/lib/libvirt/images/db.qcow2","node-name":"libvirt-1-storage",'
    '"cache":{"direct":false,"no-flush":true},"auto-read-only":true,"discard":"unmap"}',
    "-blockdev",
    '{"node-name":"libvirt-1-format","read-only":false,"cache":{"direct":false,"no-flush":true},"driver":"qcow2",'
    '"file":"libvirt-1-storage","backing":null}',
    "-device",
    '{"driver":"virtio-blk-pci","bus":"pci.4","drive":"libvirt-1-format","id":"virtio-disk0","write-cache":"on"}',
    "-blockdev",
    '{"driver":"rbd","pool":"vms","image":"seed","node-name":"libvirt-2-storage","cache":{"direct":true}}',
    "-blockdev",
    '{"node-name":"libvirt-2-format","read-only":true,"driver":"raw","file":"libvirt-2-storage"}',
    *["-device", "ide-cd,bus=ide.0,unit=0,drive=libvirt-2-format,id=ide0-0-0,write-cache=on"],
]


def process(box: Box, pid: int, words: list[str], comm: str = "") -> None:
    box.write(f"/proc/{pid}/comm", (comm or os.path.basename(words[0]))[:15])
    box.write(f"/proc/{pid}/cmdline", b"".join(os.fsencode(word) + b"\0" for word in words))


def only(box: Box, words: list[str]) -> Guest:
    process(box, 104, words)
    (found,) = read_guests(find_pids(box.root), box.root)
    return found


def test_proxmox_names_its_number_and_its_disks(box: Box) -> None:
    found = only(box, PROXMOX)
    (disk,) = found.disks
    assert (found.hypervisor, found.number, found.name, found.title) == ("proxmox", 104, "web", "VM 104")
    assert (disk.name, disk.cache, disk.flush, disk.image) == ("scsi0", "unsafe", "ignored", "/dev/pve/vm-104-disk-1")
    assert found.lossy_disks == (disk,)
    assert "104.qmp is or may be in use" in found.read_from


def test_nested_nodes_of_proxmox_9_inherit_nothing_wrong(box: Box) -> None:
    device = "scsi-hd,drive=drive-scsi1,id=scsi1,write-cache=on"
    found = only(box, [*PROXMOX, "-blockdev", json.dumps(NINE), "-device", device])
    assert [(disk.name, disk.cache, disk.flush) for disk in found.disks][1:] == [("scsi1", "none", "passed")]


def test_libvirt_is_never_asked_by_its_monitor(box: Box) -> None:
    found = only(box, LIBVIRT)
    (disk,) = found.disks
    assert (found.hypervisor, found.title, disk.name) == ("libvirt", "VM db", "virtio-disk0")
    assert (disk.cache, disk.flush, disk.format) == ("unsafe", "ignored", "qcow2")
    assert "belongs to libvirt" in found.read_from


def test_firecracker_is_read_from_its_configuration(box: Box, tmp_path: Path) -> None:
    drives = [
        {"drive_id": "rootfs", "path_on_host": "/r.ext4", "is_root_device": True, "is_read_only": True},
        {"drive_id": "data", "path_on_host": "/d.ext4", "is_root_device": False, "is_read_only": False},
        {"drive_id": "log", "path_on_host": "/l.ext4", "is_read_only": False, "cache_type": "Writeback"},
    ]
    box.write("/proc/104/root/vm.json", json.dumps({"drives": drives}))
    found = only(box, ["/usr/bin/firecracker", "--id", "fc1", "--api-sock", "/f.sock", "--config-file", "/vm.json"])
    assert [(disk.name, disk.cache, disk.flush) for disk in found.disks] == [
        ("data", "Unsafe", "ignored"),
        ("log", "Writeback", "passed"),
    ]
    assert (found.title, found.read_from, found.trouble) == ("VM fc1", "/vm.json", "")


def test_a_device_as_configuration_file_is_not_opened(box: Box) -> None:
    os.makedirs(f"{box.root}/proc/104/root")
    os.mkfifo(f"{box.root}/proc/104/root/trap")  # opening it for reading would wait for a writer
    found = only(box, ["/usr/bin/firecracker", "--api-sock", "/f.sock", "--config-file", "/trap"])
    assert found.disks == () and "gave no answer" in found.trouble


def test_cloud_hypervisor_passes_flushes_on(box: Box) -> None:
    words = "--disk path=/a.raw,direct=on,id=os path=/ro.img,readonly=on path=/b.raw --disk=path=/c.raw --cpus boot=2"
    found = only(box, ["cloud-hypervisor", "--kernel", "/k", *split(words)])
    assert [(disk.name, disk.image, disk.cache, disk.flush) for disk in found.disks] == [
        ("os", "/a.raw", "direct", "passed"),
        ("disk1", "/b.raw", "writeback", "passed"),
        ("disk2", "/c.raw", "writeback", "passed"),
    ]


def test_an_unknown_flush_option_is_not_called_passed(box: Box) -> None:
    """Its issue 8864 asks for an option to ignore flushes, without a name so far."""
    (disk,) = only(box, ["cloud-hypervisor", "--disk", "path=/a.raw,ignore_flush=on"]).disks
    assert disk.flush == "unknown"


def test_only_hypervisors_are_read(box: Box) -> None:
    for pid, comm in enumerate(["qemu-ga", "qemu-img", "qemu-nbd", "kvm-nx-lpage-re", "kvm", "bash"], start=1):
        box.write(f"/proc/{pid}/comm", comm)
    assert find_pids(box.root) == (5,)
    assert read_guests((5,), box.root) == (), "a kernel thread has no arguments"


def test_a_guest_without_a_name_is_called_by_its_process(box: Box) -> None:
    guest = only(box, split("qemu-system-x86_64 -nodefaults -drive file=/a,if=virtio"))
    assert (guest.name, guest.title) == ("", f"qemu {guest.pid}")


@pytest.mark.parametrize(("words", "expected"), [
    ("-drive file=/a,if=virtio,cache=none", ("virtio0", "none", "passed")),
    ("-drive file=/a,if=virtio,cache=directsync", ("virtio0", "directsync", "each write")),
    ("-drive file=/a,if=virtio,cache=unsafe,cache.no-flush=off", ("virtio0", "writeback", "passed")),
    ("-drive file=/a,if=virtio,file.cache.no-flush=on", ("virtio0", "unsafe", "ignored")),
    ("-drive file=/a,if=virtio,cache=none,cache.no-flush=on", ("virtio0", "none with no-flush", "ignored")),
    ("-drive file=/a,if=none,id=d -set drive.d.cache=unsafe -device ide-hd,drive=d", ("d", "unsafe", "ignored")),
    ("-drive file=/a,if=none,id=d,cache=directsync -device sd,drive=d,write-cache=on", ("d", "none", "passed")),
    ("-drive file=/a,if=none,id=d -device ide-hd,drive=d,id=e,write-cache=off", ("e", "writethrough", "each write")),
    ("-drive file=/a,if=virtio -snapshot", ("virtio0", "snapshot", "discarded")),
    ("-hdb /a", ("hdb", "writeback", "passed")),
    ("-m 128 -nographic /a", ("hda", "writeback", "passed")),
    ("-drive file.driver=iscsi,file.target=iqn.a,if=virtio,cache=none", ("virtio0", "none", "passed")),
    ("-blockdev raw,file.filename=/a,node-name=n,cache.no-flush=on -device sd,drive=n", ("n", "unsafe", "ignored")),
    ("-snapshot -blockdev file,filename=/a,node-name=n -device nvme,drive=n,id=s", ("s", "writeback", "passed")),
    ("-device scsi-hd,drive=added,id=s", ("s", "", "unknown")),
    ("-device vhost-user-blk-pci,chardev=c,id=s", ("s", "", "unknown")),
    ("-device vhost-user-scsi-pci,chardev=c,id=s", ("s", "", "unknown")),
    ("-device vhost-scsi-pci,wwpn=naa.5001405,id=s", ("s", "", "unknown")),
    ("-drive file=/a,if=none,id=d,cache=unsafe -device scsi-block,drive=d", ("d", "pass-through", "passed")),
    ("-blockdev host_device,filename=/a,node-name=n,cache.no-flush=on -device scsi-generic,drive=n,id=s",
     ("s", "pass-through", "passed")),
])  # fmt: skip
def test_settings_decide_as_in_qemu(words: str, expected: tuple[str, str, str]) -> None:
    (disk,) = qemu.disks(qemu.arguments(["qemu-system-x86_64", *split(words)]))
    assert (disk.name, disk.cache, disk.flush) == expected


def test_the_monitor_does_not_override_what_is_passed_through() -> None:
    known = qemu.disks([("blockdev", "host_device,filename=/a,node-name=n"), ("device", "scsi-block,drive=n,id=s")])
    cache = {"writeback": True, "direct": False, "no-flush": True}
    backend = {"device": "", "qdev": "s", "inserted": {"ro": False, "file": "/a", "drv": "raw", "cache": cache}}
    node = {"file": "/a", "drv": "host_device", "cache": cache}
    assert qemu.update_disks(known, [backend], [node]) == known


@pytest.mark.parametrize("words", [
    "-drive file=/a,if=pflash", "-drive file=/a,if=none,id=d", "-drive file=/a,if=virtio,readonly=on",
    "-drive file=/a,media=cdrom", "-cdrom /a", "-kernel /a -append root=/dev/vda",
])  # fmt: skip
def test_what_the_guest_cannot_write_is_no_disk(words: str) -> None:
    assert qemu.disks(qemu.arguments(["qemu-system-x86_64", *split(words)])) == []


def test_only_the_lowest_node_decides() -> None:
    """A flush passes through a format with no-flush: counted with strace in QEMU 7.2."""
    given = [
        ("blockdev", "file,node-name=s,filename=/a"),
        ("blockdev", "qcow2,node-name=d,file=s,cache.no-flush=on"),
        ("device", "virtio-blk-pci,drive=d,id=v"),
    ]
    assert [disk.flush for disk in qemu.disks(given)] == ["passed"]
    given[0] = ("blockdev", "file,node-name=s,filename=/a,cache.no-flush=on")
    given[1] = ("blockdev", "qcow2,node-name=d,file=s")
    assert [disk.flush for disk in qemu.disks(given)] == ["ignored"]


def test_a_comma_in_a_name_and_a_password_in_a_url() -> None:
    given = [("drive", "file=/a,,b.raw,if=virtio"), ("drive", "file=rbd:vms/a:id=x:key=SECRET,if=virtio")]
    given += [("drive", "file=https://me:SECRET@host/a,if=virtio")]
    given += [("drive", "file.driver=nbd,file.server.type=unix,file.server.path=/n.sock,file.export=e,if=virtio")]
    assert [disk.image for disk in qemu.disks(given)] == ["/a,b.raw", "rbd:vms/a", "https://host/a", "nbd:/n.sock/e"]


@pytest.mark.parametrize(
    "text", ['{"driver":' * 5000, '{"file": "\\ud800"}', '{"file":[1]}', "=,,=,", "a.b=1,a=2,a.b.c=3"]
)
def test_malformed_arguments_are_survived(text: str, box: Box) -> None:
    loop = '{"node-name":"n","driver":"raw","file":"n"}'
    words = ["-blockdev", text, "-drive", text, "-device", text, "-set", text, "-name", text, "-blockdev", loop]
    found = only(box, ["qemu-system-x86_64", *words, "-device", "x,drive=n", "-blockdev"])
    assert msgspec.json.encode(found)


def test_hostile_arguments_are_kept_as_data(box: Box) -> None:
    found = only(box, ["qemu-system-x86_64", "-name", NAME, "-drive", f"file={NAME},if=virtio,id={NAME}"])
    assert found.disks and found.disks[0].mount_point is None


def test_a_process_that_hangs_is_named(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading /proc/PID/cmdline waits for a lock of the process, and an image may be on a filesystem that hangs."""
    process(box, 104, PROXMOX)
    process(box, 105, LIBVIRT)
    over = threading.Event()
    whole = guests.GuestReader.guest

    def guest(reader: guests.GuestReader, pid: int) -> Guest | None:
        return over.wait() if pid == 104 else whole(reader, pid)  # type: ignore[return-value]

    monkeypatch.setattr(guests.GuestReader, "guest", guest)
    monkeypatch.setattr(guests, "TIMEOUT_S", 0.2)
    silent, other = read_guests(find_pids(box.root), box.root)
    over.set()
    assert "could not be read" in silent.trouble and other.title == "VM db"
