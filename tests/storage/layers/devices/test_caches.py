import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.judge import judge
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Reading
from fstui.storage import tool_output
from fstui.storage.layers.devices.caches import (
    has_protected_cache,
    is_cache_on,
    is_hidden_by_controller,
    is_safe_drive,
    may_outlive_power_cut,
    outlives_power_cut,
    volatile_cache,
)
from fstui.storage.survey import survey
from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.box import Box
from tests.factories.looking import only_device, read, target


def drive(medium: Medium | None = None, **readings: str) -> Node:
    found = tuple(Reading(what=what, value=value, path=f"/read/{what}") for what, value in readings.items())
    return Node(id="sda", layer="block", kind="disk", name="sda", medium=medium, readings=found)


@pytest.mark.parametrize(
    ("readings", "cache_on", "who"),
    [
        ({"drive_cache": "off", "vwc": "present", "cache_type": "write back"}, False, "drive_cache"),
        ({"drive_cache": "on", "cache_type": "write through"}, True, "drive_cache"),
        ({"vwc": "present"}, True, "vwc"),
        ({"vwc": "absent", "cache_type": "write back"}, False, "vwc"),
        ({"cache_type": "write back", "ID_ATA_WRITE_CACHE_ENABLED": "0"}, True, "cache_type"),
        ({"cache_type": "temporary write back"}, True, "cache_type"),
        ({"cache_type": "write back, no read (daft)"}, True, "cache_type"),
        ({"cache_type": "none"}, False, "cache_type"),
        ({"ID_ATA_WRITE_CACHE_ENABLED": "1"}, True, "ID_ATA_WRITE_CACHE_ENABLED"),
    ],
)
def test_most_reliable_source_decides(readings: dict[str, str], cache_on: bool, who: str) -> None:
    fact = volatile_cache(drive(None, **readings))
    assert fact is not None
    assert (fact.is_on, fact.reading.what) == (cache_on, who)


@pytest.mark.parametrize(("feature", "said"), [("1", "write cache on"), ("0", "flushed, although")])
def test_stack_shows_what_the_drive_reports_of_its_cache(tmp_path: Path, feature: str, said: str) -> None:
    box = Box(tmp_path)
    box.disk("nvme0n1", "pci0000:00/0000:00:01.0/nvme/nvme0", write_cache="write back", fua=1)
    box.mount("/dev/nvme0n1", "/srv", "xfs")
    told = {"nvme get-feature /dev/nvme0n1 -f 6": ToolOutput(output=f"Current value:{feature}")}
    node = target(survey(tmp_path, told), "/srv").node("nvme0n1")
    assert node.sync == "passes" and node.reason.startswith(said)


@pytest.mark.parametrize(("feature", "sync", "cache", "rule"), [
    ("", "unknown", "unknown", "cannot-tell"), ("1", "stops", "volatile", "not-durable"),
    ("0", "unknown", "none", None),
])  # fmt: skip
def test_nvme_cache_despite_write_through_setting(
    tmp_path: Path, feature: str, sync: str, cache: str, rule: str | None
) -> None:
    """The stack, the medium and the flag agree. An unread feature 6 does not show that the cache is on."""
    box = Box(tmp_path)
    box.disk("nvme0n1", "pci0000:00/0000:00:01.0/nvme/nvme0", write_cache="write through")
    box.mount("/dev/nvme0n1", "/srv", "xfs")
    told = {
        "nvme id-ctrl /dev/nvme0n1 -o json": ToolOutput(output='{"vwc": 1}'),
        "nvme get-feature /dev/nvme0n1 -f 6": ToolOutput(output=f"Current value:{feature}"),
    }
    found = target(survey(tmp_path, told), "/srv")
    node = found.node("nvme0n1")
    assert node.medium is not None
    assert (node.sync, node.medium.write_cache) == (sync, cache)
    verdicts = {finding.rule: finding.verdict for finding in judge(Evidence(target=found)).findings}
    assert verdicts.get("write-through-override") == rule


@pytest.mark.parametrize(("controller", "readings", "hidden"), [
    ("hpsa", {}, True), ("hpsa", {"form_factor": "2"}, False), ("megaraid_sas", {}, True), ("smartpqi", {}, True),
    ("arcmsr", {}, True), ("arcmsr", {"form_factor": "2", "grade": "hard disk"}, True),
    ("arcmsr", {"grade": "raid"}, False), ("mpt3sas", {}, False), ("ahci", {}, False),
    ("megaraid_sas", {"grade": "hard disk"}, False), ("megaraid_sas", {"ID_ATA_WRITE_CACHE_ENABLED": "0"}, False),
])  # fmt: skip
def test_controller_may_answer_for_an_unknown_volume(controller: str, readings: dict[str, str], hidden: bool) -> None:
    volume = drive(None, controller=controller, **readings)
    assert (is_hidden_by_controller(volume), may_outlive_power_cut(volume)) == (hidden, hidden)
    declared = replace(volume, medium=Medium(class_="ssd", declared=True))
    assert not is_hidden_by_controller(declared)


@pytest.mark.parametrize(
    ("node", "cache", "drive_itself", "outlives"),
    [
        (drive(Medium(class_="raid-cache")), True, False, True),
        (drive(Medium(class_="ssd", write_cache="plp")), True, True, True),
        (drive(Medium(class_="ssd-plp", write_cache="volatile")), False, True, True),
        (drive(Medium(class_="optane", write_cache="none")), False, True, True),
        (drive(Medium(class_="network"), grade="array"), True, False, True),
        (drive(Medium(class_="ssd", write_cache="volatile")), False, False, False),
        (drive(), False, False, False),
    ],
)
def test_what_outlives_a_power_cut(node: Node, cache: bool, drive_itself: bool, outlives: bool) -> None:
    assert (has_protected_cache(node), is_safe_drive(node), outlives_power_cut(node)) == (cache, drive_itself, outlives)


def test_device_decides_without_kernel_setting() -> None:
    """There is no write_cache before Linux 4.7, and the file may be unreadable."""
    assert is_cache_on(drive(cache_type="write back"))
    assert is_cache_on(drive(cache_type="write through")) is False
    assert is_cache_on(drive()) is None
    assert is_cache_on(replace(drive(), write_cache="write through")) is False
    assert is_cache_on(replace(drive(cache_type="write back"), write_cache="write through"))


NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"
ID_CTRL = "nvme id-ctrl /dev/nvme0n1 -o json"
FEATURE = "nvme get-feature /dev/nvme0n1 -f 6"
USB = "pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/host6/target6:0:0/6:0:0:0"
HDPARM = "hdparm -W /dev/sda"
SMARTCTL = "smartctl -n standby -g wcache /dev/sda"
ON, OFF = "\n/dev/sda:\n write-caching =  1 (on)\n", "\n/dev/sda:\n write-caching =  0 (off)\n"


def answering(**answers: str) -> ToolOutputs:
    return {command: ToolOutput(output=output) for command, output in answers.items()}


def test_nvme_cache_presence_and_state(box: Box) -> None:
    box.disk("nvme0n1", NVME)
    answers = answering(**{
        ID_CTRL: json.dumps({"vid": 5197, "vwc": 7}),
        FEATURE: "get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n",
    })  # fmt: skip
    node = only_device(box, answers)
    assert read(node, "vwc") == ("present", ID_CTRL)
    assert read(node, "drive_cache") == ("on", FEATURE)
    assert node.reading("missing") is None


def test_nvme_without_cache_has_no_state(box: Box) -> None:
    box.disk("nvme0n1", NVME, write_cache="write through", files={"device/model": "X"})
    answers = {
        ID_CTRL: ToolOutput(output='{"vwc": 0}'),
        FEATURE: ToolOutput(error="NVMe status: Invalid Field in Command(0x2002)"),
    }
    node = only_device(box, answers)
    assert node.medium is not None
    assert (read(node, "vwc")[0], node.medium.write_cache, node.sync) == ("absent", "none", "unknown")
    assert node.reading("missing") is None


@pytest.mark.parametrize(("output", "value"), [
    ("get-feature:0x6 (Volatile Write Cache), Current value:00000000\n", "off"),
    ("get-feature:0x6 (Volatile Write Cache), Current value:0x000001 \n", "on"),
])  # fmt: skip
def test_output_of_older_nvme_tools(box: Box, output: str, value: str) -> None:
    box.disk("nvme0n1", NVME)
    assert read(only_device(box, answering(**{FEATURE: output})), "drive_cache")[0] == value


@pytest.mark.parametrize(("output", "value"), [(ON, "on"), (OFF, "off")])
@pytest.mark.parametrize("where", ["pci0000:00/ata1/host0/target0:0:0/0:0:0:0", USB])
def test_hdparm_cache_setting(box: Box, where: str, output: str, value: str) -> None:
    box.disk("sda", where)
    assert read(only_device(box, answering(**{HDPARM: output})), "drive_cache") == (value, HDPARM)


@pytest.mark.parametrize(("hdparm", "smartctl", "value"), [
    (ToolOutput(error="hdparm is not installed"), "Write cache is:   Enabled\n", "on"),
    # of a SCSI disk (hdparm 9.65, smartctl 7.4)
    (ToolOutput(output="\n/dev/sda:\n write-caching = not supported\n"), "Writeback Cache is:   Enabled\n", "on"),
    (ToolOutput(output="\n/dev/sda:\n write-caching = not supported\n"), "Writeback Cache is:   Disabled\n", "off"),
])  # fmt: skip
def test_smartctl_replaces_hdparm(box: Box, hdparm: ToolOutput, smartctl: str, value: str) -> None:
    box.disk("sda", USB)
    outputs = {HDPARM: hdparm, SMARTCTL: ToolOutput(output=smartctl)}
    assert read(only_device(box, outputs), "drive_cache") == (value, SMARTCTL)


@pytest.mark.parametrize(("answers", "why", "path"), [
    ({}, "root only, or not read yet", SMARTCTL),
    ({HDPARM: ToolOutput(error="hdparm is not installed"), SMARTCTL: ToolOutput(error="smartctl is not installed")},
     "hdparm is not installed", HDPARM),
    ({HDPARM: ToolOutput(error="hdparm is not installed"), SMARTCTL: ToolOutput(error="no answer for 2 s")},
     "no answer for 2 s", SMARTCTL),
    ({HDPARM: ToolOutput(output="/dev/sda:\n SG_IO: bad/missing sense data")}, "does not report it", HDPARM),
])  # fmt: skip
def test_missing_answer_has_a_reason(box: Box, answers: ToolOutputs, why: str, path: str) -> None:
    box.disk("sda", USB)
    node = only_device(box, answers)
    assert read(node, "missing") == (f"the drive's report of its write cache: {why}", path)
    assert node.reading("drive_cache") is None


def test_virtual_disk_is_not_asked(box: Box) -> None:
    box.disk("vda", "pci0000:00/virtio1")
    assert only_device(box).reading("missing") is None


def test_answers_do_not_change_the_identity(box: Box) -> None:
    box.disk("sda")
    box.dm("dm-0", "vg-lv", "LVM-x", ("sda",))
    box.mount("/dev/mapper/vg-lv", "/srv", "ext4", device=box.number_of["dm-0"])
    table = f"vg-lv: 0 8 writecache s {box.number_of['sda']} 9:9 4096 0"
    answers = answering(**{HDPARM: ON, "dmsetup table": table})
    before, after = (survey(box.root, found).filesystems[0] for found in (tool_output.NO_OUTPUTS, answers))
    assert before.identity == after.identity
    assert (before.stack[1].kind, after.stack[1].kind) == ("dm-linear", "dm-writecache")
