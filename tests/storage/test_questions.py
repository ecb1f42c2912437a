"""What tools are asked."""

from __future__ import annotations

from fstui.storage.layers.sources import claims
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories.box import Box

DRIVES = {
    f"{tool} /dev/{disk}" for tool in ("hdparm -W", "smartctl -n standby -g wcache") for disk in ("sda", "sdb", "sdc")
}


def test_what_is_asked_depends_on_what_is_here_and_on_who_asks(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb", "pci0000:00/end_device-2:0/host2/target2:0:0/2:0:0:0")
    box.disk("sdc", "pci0000:00/usb1/1-1/1-1:1.0/host6/target6:0:0/6:0:0:0")
    box.disk("vda", "pci0000:00/virtio1")
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    box.disk("nvme0c3n1", "pci0000:00/nvme/nvme3")
    box.dm("dm-0", "vg-lv", "LVM-x", ("vda",))
    box.mount("/dev/nvme0n1", "/", "ext4")
    box.mount("tank/db", "/db", "zfs")
    inventory = survey(box.root)
    for_root = {claims.line(asked) for asked in commands(inventory, root=True)}
    for_users = {claims.line(asked) for asked in commands(inventory, root=False)}
    pools = {
        "zpool status -L -P tank",
        "zpool get -H -p -o name,property,value,source ashift tank",
        "zfs get -H -p -o name,property,value,source sync,logbias,recordsize,compression,primarycache,atime tank/db",
    }
    assert for_users == pools
    assert for_root - pools == {
        *DRIVES, "dmsetup table",
        "nvme id-ctrl /dev/nvme3 -o json", "nvme get-feature /dev/nvme3 -f 6",
    }  # fmt: skip
