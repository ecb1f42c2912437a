"""How stubbed syncs, protected caches and hosts without a flush change the verdicts of several rules."""

import msgspec
import pytest

from fstui.judge import judge
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node
from tests.factories.evidence import GUEST, evidence, rules
from tests.factories.steps import flushed, own_time, step, write
from tests.factories.storage import disk, filesystem, on_disk, readings, target
from tests.judge.rules.device.drives import CONTROLLER, consumer, drive

STUBBED = Process(pipe_fsync_fails=False)
SERVER = Node(id="remote:nfs4", layer="remote", kind="nfs4", name="filer:/vol1")
NO_FLUSH = disk("vda", link="virtio", write_cache="write through", readings=readings(F_FLUSH="no", CONFIG_WCE="no"))
ROTATING = drive(Medium(class_="hdd-7200", rpm=7200))
RESTING = {
    "consumer-nand-too-fast": evidence(consumer(), write(60), flushed(80)),
    "stated-durable": evidence(on_disk(filesystem(), drive(CONTROLLER)), flushed(100)),
    "bytes-missing": evidence(None, write(20, share=0.0)),
    "remote-filesystem": evidence(target(filesystem("nfs4", "/mnt", below=(SERVER.id,)), SERVER)),
    "virtio-no-flush": evidence(on_disk(filesystem(below=("vda",)), NO_FLUSH), host=GUEST),
    "usb-bridge": evidence(on_disk(filesystem(), disk(link="usb", write_cache="write through"))),
    "same-block-rotation": evidence(
        on_disk(filesystem(), ROTATING), own_time(step("same", offsets="same", rate=118, ops=118), 8)
    ),
}


@pytest.mark.parametrize(("rule", "seen"), RESTING.items(), ids=RESTING)
def test_stubbed_process_shows_nothing_about_storage(rule: str, seen: Evidence) -> None:
    assert rule in rules(judge(seen))
    assert rule not in rules(judge(msgspec.structs.replace(seen, process=STUBBED)))
