"""F2FS."""

from __future__ import annotations

import pytest

from fstui.storage.layers.sources.claims import Answer
from fstui.storage.questions import commands
from fstui.storage.survey import survey
from tests.factories import storage
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look, read, target
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk


@pytest.mark.parametrize(("options", "barrier"), [
    ("rw,fsync_mode=posix", "barrier"), ("rw,fsync_mode=strict", "barrier"), ("rw,fsync_mode=nobarrier", "nobarrier"),
])  # fmt: skip
def test_its_mode_of_fsync_tells_whether_it_flushes(box: Box, options: str, barrier: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "f2fs", super_options=options)
    assert read(look(box).stack[0], "barrier")[0] == barrier


def test_what_switches_its_flushes_on_again_is_its_own_option() -> None:
    found = finding(verdict(on_disk(filesystem("f2fs", barrier="nobarrier"))), "barriers-off")
    assert any("fsync_mode=posix" in line for line in found.next)


def test_one_flush_for_each_sync_is_the_least_and_the_most_is_open() -> None:
    where = on_disk(filesystem("f2fs", barrier="barrier"))
    assert "flushes-missing" in rules(verdict(where, step(flushes=0.5)))
    for flushes in (1.0, 3.0):
        assert not rules(verdict(where, step(flushes=flushes))) & {"flushes-missing", "other-writers"}


@pytest.mark.parametrize("option", ["checkpoint=disable", "checkpoint=disable:4096"])
def test_without_checkpoints_nothing_that_was_synced_is_found_after_a_power_cut(box: Box, option: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "f2fs", super_options=f"rw,{option},fsync_mode=posix")
    top = look(box).stack[0]
    assert (top.sync, read(top, "checkpoint")[0]) == ("stops", "disable")
    assert finding(verdict(look(box)), "syncs-not-sent").verdict == "not-durable"


def test_merged_checkpoints_are_checkpoints(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "f2fs", super_options="rw,checkpoint_merge,fsync_mode=posix")
    assert look(box).stack[0].reading("checkpoint") is None


@pytest.mark.parametrize(("told", "below"), [
    ("/dev/sda\n/dev/zram0", ("sda", "zram0")), ("/dev/old\n/dev/nowhere", ("sda",)), ("", ("sda",)),
    ("/dev/sda\n/dev/sda", ("sda",)),
])  # fmt: skip
def test_its_further_devices_are_those_of_its_superblock(box: Box, told: str, below: tuple[str, ...]) -> None:
    box.disk("sda")
    box.disk("zram0", "virtual")
    box.mount("/dev/sda", "/srv", "f2fs", super_options="rw,fsync_mode=posix")
    found = target(survey(box.root, {"f2fs_devices /dev/sda": Answer(output=told)}), "/srv")
    assert found.stack[0].below == below
    assert ("in-memory" in rules(verdict(found))) is ("zram0" in below)
    assert ("f2fs_devices", "/dev/sda") in commands(survey(box.root), root=True)


def test_of_several_devices_those_are_flushed_that_the_file_was_written_to() -> None:
    two = storage.target(filesystem("f2fs", below=("sda", "sdb"), barrier="barrier"), disk(), disk("sdb"))
    half = dict.fromkeys(("sda", "sdb"), 0.5)
    assert "flushes-missing" not in rules(verdict(two, step(flushes=half, share=half)))
    one = step(flushes={"sda": 0, "sdb": 1}, share={"sda": 0, "sdb": 1})
    assert not rules(verdict(two, one)) & {"flushes-missing", "bytes-missing"}
    none = step(flushes=dict.fromkeys(half, 0), share=half)
    assert "flushes-missing" in rules(verdict(two, none))
