"""Devices whose flushes the kernel drops, by what that costs."""

from __future__ import annotations

from fstui.judge.facts.overrides import Override, overrides
from fstui.judge.facts.stack import Stack
from fstui.model.run import Evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

TOLD = block("dm-0", "dm-linear", "sdb", write_cache="write through")
MIRROR = block("md0", "md", "sda", "dm-0", readings=readings(level="raid1"), write_cache="write back")
BENEATH = (disk(), TOLD, disk("sdb"))


def test_a_told_leg_loses_where_nothing_tells_its_copy_from_the_other() -> None:
    on_md = target(filesystem(below=("md0",)), MIRROR, *BENEATH)
    found = overrides(Evidence(target=on_md), Stack(on_md))
    assert [override.device for override in found.losing] == [TOLD] and not found.corrected
    top = filesystem("btrfs", below=("sda", "dm-0"), barrier="barrier", level="raid1", metadata_level="raid1")
    on_btrfs = target(top, *BENEATH)
    found = overrides(Evidence(target=on_btrfs), Stack(on_btrfs))
    assert [override.device for override in found.corrected] == [TOLD] and not found.losing


def test_what_none_contradicts_is_no_override() -> None:
    without = target(filesystem(below=("dm-0",)), TOLD, disk("sdb", write_cache="write through"))
    assert overrides(Evidence(target=without), Stack(without)) == ((), (), ())


def test_since_when_data_lies_there_is_said_with_its_name() -> None:
    override = Override(TOLD, ())
    assert override.name == "dm-0"
    assert override._replace(came=step("fsync")).name == "dm-0, where data lies since fsync,"


def test_a_controllers_volume_of_an_unknown_name_may_have_a_battery() -> None:
    told = disk(write_cache="write through", link="scsi", readings=readings(cache_type="write back", controller="stex"))
    assert overrides(Evidence(target=on_disk(filesystem(), told)), Stack(on_disk(filesystem(), told))) == ((), (), ())
