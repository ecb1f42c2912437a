"""XFS: devices of its own for log and real-time data."""

from __future__ import annotations

from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import look, read, roles
from tests.factories.steps import step


def test_xfs_log_and_realtime_devices_are_part_of_the_stack(box: Box) -> None:
    for name in ("sda", "sdb", "sdc"):
        box.disk(name)
    box.link("/dev/disk/by-id/log", "../../sdb")
    options = "rw,attr2,logdev=/dev/disk/by-id/log,rtdev=/dev/sdc"
    box.mount("/dev/sda", "/srv", "xfs", super_options=options)
    top = look(box).stack[0]
    assert top.below == ("sda", "sdb", "sdc")
    assert read(top, "logdev")[0] == "/dev/disk/by-id/log"


def test_xfs_log_and_realtime_devices_have_their_roles(box: Box) -> None:
    box.disks("sda", "sdb", "sdc")
    box.mount("/dev/sda", "/srv", "xfs", super_options="rw,logdev=/dev/sdb,rtdev=/dev/sdc")
    assert roles(look(box)) == {"sdb": "log", "sdc": "realtime"}


def test_files_may_lie_on_a_real_time_device_whose_path_leads_nowhere_here(box: Box) -> None:
    """In a container: none of the flushes that it gets can be counted, and nobody is accused for that."""
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "xfs", super_options="rw,rtdev=/dev/disk/by-id/rt")
    found = look(box)
    assert read(found.stack[0], "device_unseen")[0] == "/dev/disk/by-id/rt"
    assert verdict(found, step(flushes=0, share=0)).verdict == "cannot-tell"
