import pytest

from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import look, read, roles, target, trouble
from tests.factories.steps import step


@pytest.mark.parametrize(
    ("barrier", "sync", "reason"),
    [("barrier", "passes", "a sync ends in a flush"), ("nobarrier", "stops", "nobarrier")],
)
def test_ext4_options_come_from_proc_fs(box: Box, barrier: str, sync: str, reason: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", f"rw {barrier} data=ordered")
    top = look(box).stack[0]
    assert read(top, "barrier") == (barrier, "/proc/fs/ext4/sda/options")
    assert read(top, "data") == ("ordered", "/proc/fs/ext4/sda/options")
    assert read(top, "journal") == ("yes", "/proc/fs/ext4/sda/options")
    assert (top.sync, top.reason) == (sync, reason)


def test_ext4_data_journal_and_no_journal(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb")
    box.mount("/dev/sda", "/journal", "ext4")
    box.mount("/dev/sdb", "/none", "ext4")
    box.ext4("sda", "rw barrier data=journal")
    box.ext4("sdb", "rw barrier", journal=False)
    inventory = survey(box.root)
    assert read(target(inventory, "/journal").stack[0], "data")[0] == "journal"
    assert read(target(inventory, "/none").stack[0], "journal") == ("no", "/proc/fs/ext4/sdb/options")


def test_ext4_options_from_mountinfo(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", super_options="rw,barrier=0")
    top = look(box).stack[0]
    assert read(top, "barrier") == ("nobarrier", "/proc/self/mountinfo")
    assert top.reading("journal") is None


def test_ext4_errors_are_reported(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", errors=7)
    assert trouble(look(box).stack[0]) == [("errors_count", "7")]


@pytest.mark.parametrize(("thread", "journal"), [
    ("jbd2/sdb", {"sdb": "journal"}), ("jbd2/sda-8", {}), ("jbd2/nvme0n1p1-", {}), ("kworker/0:1", {}),
    ("jbd2/sdz", {}), ("jbd2/dm-8", {"dm-8": "journal"}),
])  # fmt: skip
def test_ext4_external_journal_is_in_the_stack(box: Box, thread: str, journal: dict[str, str]) -> None:
    box.disks("sda", "sdb")
    box.dm("dm-8", "journal", "", ("sdb",))
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", journal=False)
    box.write("/sys/fs/ext4/sda/journal_task", "512")
    box.write("/proc/512/comm", thread)
    found = look(box)
    assert roles(found) == journal
    assert found.stack[0].below == ("sda", *journal)
    assert read(found.stack[0], "journal")[0] == "yes"


@pytest.mark.parametrize(
    ("journals", "is_unseen"), [(("sda-8",), False), (("sda-11",), False), (("sdb", "sdc-8"), True)]
)
def test_ext4_journal_of_another_pid_namespace(box: Box, journals: tuple[str, ...], is_unseen: bool) -> None:
    """In a container, the journal's thread is not visible, so the device of an external journal is not known."""
    box.disks("sda", "sdb")
    box.mount("/dev/sda", "/srv", "ext4")
    box.ext4("sda", "rw barrier data=ordered", journal=False)
    box.write("/sys/fs/ext4/sda/journal_task", "0")
    for journal in journals:
        box.write(f"/proc/fs/jbd2/{journal}/info", "")
    found = look(box)
    assert (found.stack[0].reading("device_unseen") is not None) is is_unseen
    assert verdict(found, step()).verdict == ("cannot-tell" if is_unseen else "consistent")
