import pytest

from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import look, read, roles
from tests.factories.steps import step


def test_xfs_log_and_realtime_devices_are_in_the_stack(box: Box) -> None:
    for name in ("sda", "sdb", "sdc"):
        box.disk(name)
    box.link("/dev/disk/by-id/log", "../../sdb")
    options = "rw,attr2,logdev=/dev/disk/by-id/log,rtdev=/dev/sdc"
    box.mount("/dev/sda", "/srv", "xfs", super_options=options)
    found = look(box)
    top = found.stack[0]
    assert top.below == ("sda", "sdb", "sdc")
    assert roles(found) == {"sdb": "log", "sdc": "realtime"}
    assert read(top, "logdev")[0] == "/dev/disk/by-id/log"


@pytest.mark.parametrize("option", ["rtdev", "logdev"])
@pytest.mark.parametrize("path", ["/dev/disk/by-id/other", "/srv/link-to-other"])
def test_unseen_device_of_xfs_is_reported(box: Box, option: str, path: str) -> None:
    """In a container, the flushes of that device cannot be counted, and none are reported missing. It may be memory."""
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "xfs", super_options=f"rw,{option}={path}")
    found = look(box)
    assert read(found.stack[0], "device_unseen")[0] == path
    assert [verdict(found, step(flushes=flushes, share=flushes)).verdict for flushes in (0, 1)] == ["cannot-tell"] * 2
