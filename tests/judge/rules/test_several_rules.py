"""How stubbed syncs, protected caches and hosts without a flush change the verdicts of several rules."""

import msgspec
import pytest

from fstui.judge import judge
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node
from tests.factories.evidence import GUEST, METAL, evidence, finding, rules, verdict
from tests.factories.steps import flushed, own_time, step, write
from tests.factories.storage import disk, filesystem, on_disk, readings, target
from tests.judge.rules.device.drives import CONTROLLER, consumer, drive

STUBBED = Process(pipe_fsync_fails=False)
SERVER = Node(id="remote:nfs4", layer="remote", kind="nfs4", name="filer:/vol1")
NO_FLUSH = disk("vda", link="virtio", write_cache="write through", readings=readings(F_FLUSH="no", CONFIG_WCE="no"))
ROTATING = drive(Medium(class_="hdd-7200", rpm=7200))
CHEAP_FLAG = step("O_DSYNC", rate=9000, flushes=0.0, open_flags=("dsync",), sync="none")
RESTING = {
    "consumer-nand-too-fast": evidence(consumer(), write(60), flushed(80)),
    "stated-durable": evidence(on_disk(filesystem(), drive(CONTROLLER)), flushed(100)),
    "bytes-missing": evidence(None, write(20, share=0.0)),
    "remote-filesystem": evidence(target(filesystem("nfs4", "/mnt", below=(SERVER.id,)), SERVER)),
    "virtio-no-flush": evidence(on_disk(filesystem(below=("vda",)), NO_FLUSH), host=GUEST),
    "usb-bridge": evidence(on_disk(filesystem(), disk(link="usb", write_cache="write through"))),
    "odsync-cheaper": evidence(None, step(), CHEAP_FLAG),
    "same-block-rotation": evidence(
        on_disk(filesystem(), ROTATING), own_time(step("same", offsets="same", rate=118, ops=118), 8)
    ),
}


@pytest.mark.parametrize(("rule", "seen"), RESTING.items(), ids=RESTING)
def test_stubbed_process_shows_nothing_about_storage(rule: str, seen: Evidence) -> None:
    assert rule in rules(judge(seen))
    assert rule not in rules(judge(msgspec.structs.replace(seen, process=STUBBED)))


PLP = Medium(class_="ssd-plp", write_cache="plp")


def test_protected_drive_may_be_set_to_write_through() -> None:
    told = readings(cache_type="write back")
    through = on_disk(None, disk(write_cache="write through", readings=told))
    assert "write-through-override" in rules(verdict(through))
    protected = on_disk(None, disk(write_cache="write through", readings=told, medium=PLP))
    assert "write-through-override" not in rules(verdict(protected))


@pytest.mark.parametrize(("offered", "word"), [("no", "cannot-tell"), ("yes", "plausible")])
def test_barriers_off_on_a_host_without_flush(offered: str, word: str) -> None:
    virtual = disk("vda", link="virtio", write_cache="write through", readings=readings(F_FLUSH=offered))
    stack = on_disk(filesystem(below=("vda",), barrier="nobarrier"), virtual)
    assert finding(verdict(stack, host=GUEST), "barriers-off").verdict == word


def test_o_dsync_may_be_cheaper_if_no_flush_is_expected() -> None:
    quick = step("O_DSYNC", rate=9000, flushes=0.0, sync="none", open_flags=("dsync",))
    through = verdict(on_disk(None, disk(write_cache="write through")), step(flushes=0.0), quick, host=METAL)
    assert finding(through, "odsync-cheaper").verdict is None
