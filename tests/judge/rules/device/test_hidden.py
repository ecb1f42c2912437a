"""Layers and devices that hide what a sync does."""

import pytest
from msgspec.structs import replace

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Medium, Node, Target
from fstui.storage.layers import kind
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look
from tests.factories.steps import own_time, step
from tests.factories.storage import block, disk, filesystem, on_array, on_disk, readings, target


def served(kind: str = "nfs4", **values: str) -> Target:
    top = filesystem(kind, "/mnt", below=(f"remote:{kind}",), **values)
    return target(top, Node(id=f"remote:{kind}", layer="remote", kind=kind, name="filer:/vol1"))


@pytest.mark.parametrize(
    ("where", "who"),
    [
        (served("nfs4"), "the server"),
        (served("cifs"), "the server"),
        (served("fuse.sshfs"), "a program of this host"),
        (served("virtiofs"), "the host"),
        (served("9p"), "the host or a server"),
    ],
    ids=lambda value: value.fstype if isinstance(value, Target) else "",
)
def test_remote_filesystem_gives_cannot_tell(where: Target, who: str) -> None:
    judgement = verdict(where)
    assert judgement.verdict == "cannot-tell"
    assert finding(judgement, "remote-filesystem").title == f"{where.fstype}: {who} handles syncs"
    assert f"is handled by {who}." in judgement.sentence and "elsewhere" not in judgement.sentence


@pytest.mark.parametrize("kind", ["cifs", "9p", "virtiofs", "fuse.sshfs", "ceph"])
def test_server_without_a_documented_protocol_gives_cannot_tell(kind: str) -> None:
    judgement = verdict(served(kind), step())
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "medium")
    assert finding(judgement, "remote-filesystem").next[-1].startswith("Until then")


@pytest.mark.parametrize(
    ("commits", "words"), [(2000, "2\xa0000 syncs sent 2\xa0000 COMMITs"), (0, "requested as stable")]
)
def test_nfs_is_durable_as_far_as_the_protocol_goes(commits: int, words: str) -> None:
    counters = (DeviceCounters(device="mount:/mnt", commits=commits),)
    judgement = verdict(served(), step(changes={"counters": counters}))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "stable storage before it acknowledges" in judgement.sentence and words in judgement.sentence
    assert "export with async acknowledges both before the data is on disk" in judgement.sentence
    assert any("RFC 1813" in line for line in finding(judgement, "remote-filesystem").evidence)


def test_server_faster_than_any_cache_gives_cannot_tell() -> None:
    assert verdict(served(), step(rate=150_000, ops=10_000)).verdict == "cannot-tell"


def under(name: str, *below: str, **values: str) -> Target:
    return target(filesystem(below=("x",)), block("x", name, *below, readings=readings(**values)), disk(), disk("sdb"))


IN_MEMORY = target(filesystem(below=("x",)), block("x", "drbd", "zram0"), block("zram0", "zram", lowest=True))


@pytest.mark.parametrize("where", [target(filesystem("f2fs"), disk()), IN_MEMORY], ids=["filesystem", "memory below"])
@pytest.mark.parametrize("flushes", [0, 1])
def test_nothing_is_known_of_an_unknown_layer(where: Target, flushes: float) -> None:
    judgement = verdict(where, step(flushes=flushes))
    assert (judgement.verdict, "unknown-layer" in rules(judgement)) == ("cannot-tell", True)


@pytest.mark.parametrize("flushes", [0, 1, 5])
def test_unknown_layer_gives_cannot_tell(flushes: float) -> None:
    judgement = verdict(under("drbd", "sda"), step(flushes=flushes))
    assert judgement.verdict == "cannot-tell"
    assert "fstui does not know the layer drbd (x)" in judgement.sentence
    assert "fstui powercut" in finding(judgement, "unknown-layer").next[2]


def test_setting_of_a_known_layer_is_not_called_a_layer() -> None:
    where = target(filesystem(sync_option="sync"), disk())
    found = finding(verdict(where, step()), "unknown-layer")
    assert found.title == "ext4 with sync_option sync: a setting that fstui does not know"
    assert "cannot judge ext4 with sync_option sync (/srv)" in found.sentence and "layer" not in found.sentence


def test_unknown_layers_are_named_together() -> None:
    where = target(filesystem("newfs", below=("x",)), block("x", "drbd", "sda"), disk())
    assert "the layers newfs (/srv) and drbd (x), nor" in verdict(where, step(flushes=0)).sentence


def test_unknown_layer_shows_what_could_not_be_read() -> None:
    judgement = verdict(under("dm", "sda", missing="the device-mapper table: no answer for 4 s"), step(flushes=0))
    line = finding(judgement, "unknown-layer").evidence[1]
    assert line.startswith("x missing: the device-mapper table: no answer for 4 s")


def test_barriers_off_above_an_unknown_layer_are_reported() -> None:
    top = filesystem(below=("x",), barrier="nobarrier")
    assert "barriers-off" in rules(verdict(target(top, block("x", "drbd", "sda"), disk()), step(flushes=0)))


def test_device_of_an_unknown_driver_is_not_a_disk(box: Box) -> None:
    box.disk("sda")
    box.device("drbd0", slaves=("sda",), iostats=0)
    box.mount("/dev/drbd0", "/srv", "ext4")
    node = look(box).node("drbd0")
    assert (node.kind, kind(node.kind).is_known, node.below) == ("drbd", False, ("sda",))


BRIDGED = on_disk(
    filesystem(),
    disk(link="usb", write_cache="write through", readings=readings(usb_bridge="152d:0578 JMicron"), fua=False),
)


def test_bridge_reporting_write_through_gives_cannot_tell() -> None:
    judgement = verdict(BRIDGED, step(flushes=0))
    found = finding(judgement, "usb-bridge")
    assert (judgement.verdict, found.confidence) == ("cannot-tell", "medium")
    assert "sda usb_bridge: 152d:0578 JMicron (/read/usb_bridge)" in found.evidence


def test_bridges_in_front_of_two_disks_are_one_finding() -> None:
    array = on_array(*BRIDGED.lowest, replace(BRIDGED.lowest[0], id="sdb", name="sdb"))
    assert "in front of sda and sdb reports" in finding(verdict(array, step(flushes=0)), "usb-bridge").sentence


def test_barriers_off_above_a_usb_bridge_give_cannot_tell() -> None:
    assert verdict(on_disk(filesystem(barrier="nobarrier"), *BRIDGED.lowest)).verdict == "cannot-tell"


def test_declared_rotating_disk_takes_precedence() -> None:
    declared = disk(link="usb", write_cache="write through", medium=Medium(class_="hdd-7200", declared=True))
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0), 8)
    judgement = verdict(on_disk(filesystem(), declared), same)
    assert (judgement.verdict, "usb-bridge" in rules(judgement)) == ("consistent", False)


def test_drive_with_its_cache_on_has_another_rule() -> None:
    drive = disk(link="usb", write_cache="write through", readings=readings(drive_cache="on"))
    judgement = verdict(on_disk(filesystem(), drive))
    assert judgement.verdict == "not-durable"
    assert "usb-bridge" not in rules(judgement)
