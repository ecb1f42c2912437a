import pytest

from fstui.storage.layers.kinds import sync_of
from tests.factories.box import Box
from tests.factories.evidence import verdict
from tests.factories.looking import look, read, roles, trouble


def test_degraded_resyncing_raid10(box: Box) -> None:
    members = ("sda1", "sdb1", "sdc1", "sdd1")
    for name in members:
        box.disk(name[:3])
        box.partition(name[:3], 1)
    box.md("md0", "raid10", members, degraded="1", sync_action="recover")
    box.mount("/dev/md0", "/srv", "xfs")
    found = look(box)
    array = found.node("md0")
    assert (array.kind, array.below, array.counted) == ("md", members, False)
    assert read(array, "level") == ("raid10", "/sys/block/md0/md/level")
    assert trouble(array) == [("degraded", "1"), ("sync_action", "recover")]
    assert {node.id for node in found.lowest} == {"sda", "sdb", "sdc", "sdd"}


def test_md_array_with_journal(box: Box) -> None:
    box.disk("sda")
    box.md("md127", "raid5", ("sda",), journal_mode="[write-through] write-back")
    box.mount("/dev/md127", "/srv", "ext4")
    array = look(box).node("md127")
    assert read(array, "journal_mode")[0] == "[write-through] write-back"
    assert trouble(array) == []


@pytest.mark.parametrize(("policy", "found"), [("ppl", "not-durable"), ("resync", "cannot-tell")])
def test_partial_parity_log_stops_flushes(box: Box, policy: str, found: str) -> None:
    box.disk("sda")
    box.md("md0", "raid5", ("sda",), consistency_policy=policy)
    box.mount("/dev/md0", "/srv", "ext4")
    assert (sync_of(look(box).node("md0"))[0] == "stops") is (policy == "ppl")
    assert verdict(look(box)).verdict == found


@pytest.mark.parametrize(("level", "role"), [("raid1", "mirror leg"), ("raid10", "mirror leg"), ("raid0", "stripe"),
                                             ("raid5", "stripe")])  # fmt: skip
def test_roles_of_md_members(box: Box, level: str, role: str) -> None:
    box.disks("sda", "sdb", "sdc", "sdd")
    files = {f"dev-{name}/state": state for name, state in
             {"sda": "in_sync", "sdb": "in_sync,journal", "sdc": "spare", "sdd": "faulty"}.items()}  # fmt: skip
    box.md("md0", level, ("sda", "sdb", "sdc", "sdd"), consistency_policy="journal", **files)
    box.write("/sys/block/md0/md/bitmap/location", "+8")
    box.mount("/dev/md0", "/srv", "xfs")
    found = look(box)
    array = found.node("md0")
    assert roles(found) == {"sda": role, "sdb": "journal", "sdc": "spare", "sdd": role}
    assert trouble(array) == [("faulty", "sdd")]
    assert read(array, "consistency_policy")[0] == "journal"
