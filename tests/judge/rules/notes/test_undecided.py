"""What is said of a run that nothing could judge: what is established, what is not, and who can answer."""

import pytest

from fstui.model.host import Host
from fstui.model.storage import Node, Reading
from tests.factories.evidence import GUEST, METAL, finding, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk

THROUGH = "write through"


@pytest.mark.parametrize(
    ("device", "host", "who"),
    [
        (disk(write_cache=THROUGH), METAL, "smartctl -g wcache /dev/sda"),
        (disk(write_cache=THROUGH, link="nvme"), METAL, "Run fstui as root on this host: it then reads vwc"),
        (disk(write_cache=THROUGH, link="iscsi"), METAL, "emulate_write_cache"),
        (disk(write_cache=THROUGH, link="mmc"), METAL, "fstui powercut"),
        (disk(write_cache=THROUGH, link="virtio"), GUEST, "virsh dumpxml"),
        (disk(write_cache=THROUGH, link="scsi"), Host(virtualization="xen"), "xl configuration"),
    ],
)
def test_note_says_who_can_answer(device: Node, host: Host, who: str) -> None:
    judgement = verdict(on_disk(filesystem(), device), step(flushes=0), host=host)
    found = finding(judgement, "undecided")
    assert (judgement.verdict, found.verdict) == ("cannot-tell", None)
    assert found.sentence.startswith("2\xa0000 syncs returned") and "Not established: that sda" in found.sentence
    assert who in found.next[0]
    assert found.next[-1].startswith("Until then")


def test_degraded_stack_is_not_called_faultless() -> None:
    degraded = Reading(what="degraded", value="1", path="/sys/block/sda/degraded")
    judgement = verdict(on_disk(filesystem(), disk(state=(degraded,))))
    assert "Nothing has been measured yet" in judgement.sentence
    assert "no fault" not in judgement.sentence
