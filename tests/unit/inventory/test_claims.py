"""What tools told, read as facts of drives; and what could not be told, said so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fstui.children import command
from fstui.inventory import claims
from fstui.inventory.claims import Answer, Claims
from fstui.inventory.survey import survey
from fstui.model import Node
from tests.unit.inventory.looking import read
from tests.unit.inventory.trees import Box

NVME = "pci0000:00/0000:01:00.0/nvme/nvme0"
ID_CTRL = "nvme id-ctrl /dev/nvme0n1 -o json"
FEATURE = "nvme get-feature /dev/nvme0n1 -f 6"
HDPARM = "hdparm -W /dev/sda"
SMARTCTL = "smartctl -n standby -g wcache /dev/sda"
ON, OFF = "\n/dev/sda:\n write-caching =  1 (on)\n", "\n/dev/sda:\n write-caching =  0 (off)\n"


def told(**answers: str) -> Claims:
    return {command: Answer(output=output) for command, output in answers.items()}


def only(box: Box, found: Claims = claims.UNASKED) -> Node:
    (node,) = survey(box.root, found).unused
    return node


def test_what_is_asked_depends_on_what_is_here_and_on_who_asks(box: Box) -> None:
    box.disk("sda")
    box.disk("sdb", "pci0000:00/end_device-2:0/host2/target2:0:0/2:0:0:0")
    box.disk("vda", "pci0000:00/virtio1")
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    box.disk("nvme0c3n1", "pci0000:00/nvme/nvme3")
    box.dm("dm-0", "vg-lv", "LVM-x", ("vda",))
    box.mount("/dev/nvme0n1", "/", "ext4")
    box.mount("tank/db", "/db", "zfs")
    inventory = survey(box.root)
    for_root = {claims.line(asked) for asked in claims.commands(inventory, root=True)}
    for_users = {claims.line(asked) for asked in claims.commands(inventory, root=False)}
    pools = {
        "zpool status -L -P tank",
        "zpool get -H -p -o name,property,value,source ashift tank",
        "zfs get -H -p -o name,property,value,source sync,logbias,recordsize,compression,primarycache,atime tank/db",
    }
    assert for_users == pools
    assert for_root - pools == {
        HDPARM, SMARTCTL, "smartctl -n standby -g wcache /dev/sdb", "dmsetup table",
        "nvme id-ctrl /dev/nvme3 -o json", "nvme get-feature /dev/nvme3 -f 6",
    }  # fmt: skip


def test_an_nvme_drive_says_whether_it_has_a_cache_and_whether_it_is_on(box: Box) -> None:
    box.disk("nvme0n1", NVME)
    answers = told(**{
        ID_CTRL: json.dumps({"vid": 5197, "vwc": 7}),
        FEATURE: "get-feature:0x06 (Volatile Write Cache), Current value:0x00000001\n",
    })  # fmt: skip
    node = only(box, answers)
    assert read(node, "vwc") == ("present", ID_CTRL)
    assert read(node, "drive_cache") == ("on", FEATURE)
    assert node.reading("missing") is None


def test_an_nvme_drive_without_a_volatile_cache_has_none(box: Box) -> None:
    box.disk("nvme0n1", NVME, write_cache="write through", files={"device/model": "X"})
    answers = {
        ID_CTRL: Answer(output='{"vwc": 0}'),
        FEATURE: Answer(error="NVMe status: Invalid Field in Command(0x2002)"),
    }
    node = only(box, answers)
    assert node.medium is not None
    assert (read(node, "vwc")[0], node.medium.write_cache, node.sync) == ("absent", "none", "unknown")
    assert node.reading("missing") is None


@pytest.mark.parametrize(("output", "value"), [
    ("get-feature:0x6 (Volatile Write Cache), Current value:00000000\n", "off"),
    ("get-feature:0x6 (Volatile Write Cache), Current value:0x000001 \n", "on"),
])  # fmt: skip
def test_older_tools_write_the_feature_in_other_ways(box: Box, output: str, value: str) -> None:
    box.disk("nvme0n1", NVME)
    assert read(only(box, told(**{FEATURE: output})), "drive_cache")[0] == value


@pytest.mark.parametrize(("output", "value"), [(ON, "on"), (OFF, "off")])
def test_hdparm_tells_a_sata_drives_own_word(box: Box, output: str, value: str) -> None:
    box.disk("sda")
    assert read(only(box, told(**{HDPARM: output})), "drive_cache") == (value, HDPARM)


def test_smartctl_tells_where_hdparm_is_missing(box: Box) -> None:
    box.disk("sda")
    answers = {HDPARM: Answer(error="hdparm is not installed"), SMARTCTL: Answer(output="Write cache is:   Enabled\n")}
    assert read(only(box, answers), "drive_cache") == ("on", SMARTCTL)


def test_the_drives_own_word_now_beats_what_the_driver_was_told(box: Box) -> None:
    """After “temporary write through” the driver repeats it, while the drive's cache is still on."""
    box.disk("sda", write_cache="write through", files={"device/scsi_disk/0:0:0:0/cache_type": "write through"})
    assert only(box).sync == "unknown"
    lying = only(box, told(**{HDPARM: ON}))
    assert lying.medium is not None
    assert (lying.sync, lying.medium.write_cache) == ("stops", "volatile")


@pytest.mark.parametrize(("answers", "why", "path"), [
    ({}, "root only, or not asked yet", SMARTCTL),
    ({HDPARM: Answer(error="hdparm is not installed"), SMARTCTL: Answer(error="smartctl is not installed")},
     "hdparm is not installed", HDPARM),
    ({HDPARM: Answer(error="hdparm is not installed"), SMARTCTL: Answer(error="no answer for 2 s")},
     "no answer for 2 s", SMARTCTL),
    ({HDPARM: Answer(output="/dev/sda:\n SG_IO: bad/missing sense data")}, "says nothing of it", HDPARM),
])  # fmt: skip
def test_what_could_not_be_told_is_said_with_the_reason(box: Box, answers: Claims, why: str, path: str) -> None:
    box.disk("sda")
    node = only(box, answers)
    assert read(node, "missing") == (f"the drive's own word on its write cache: {why}", path)
    assert node.reading("drive_cache") is None


def test_nothing_is_missed_of_a_virtual_disk(box: Box) -> None:
    box.disk("vda", "pci0000:00/virtio1")
    assert only(box).reading("missing") is None


def test_asking_changes_nothing_of_a_storages_identity(box: Box) -> None:
    box.disk("sda")
    box.dm("dm-0", "vg-lv", "LVM-x", ("sda",))
    box.mount("/dev/mapper/vg-lv", "/srv", "ext4", device=box.number_of["dm-0"])
    table = f"vg-lv: 0 8 writecache s {box.number_of['sda']} 9:9 4096 0"
    answers = told(**{HDPARM: ON, "dmsetup table": table})
    before, after = (survey(box.root, found).filesystems[0] for found in (claims.UNASKED, answers))
    assert before.identity == after.identity
    assert (before.stack[1].kind, after.stack[1].kind) == ("dm-linear", "dm-writecache")


@pytest.mark.parametrize("line", [None, [], {}, {"command": 3}, {"command": "x", "output": 5}, "text"])
def test_answers_of_another_shape_are_left_out(line: object) -> None:
    assert claims.decode(line) in ({}, {"3": Answer()})


def ask(*commands: list[str]) -> dict[str, dict[str, str]]:
    """The real program, with real children of its own."""
    asked = json.dumps(commands)
    done = subprocess.run(command("probes.claims"), input=asked, capture_output=True, text=True, check=True, timeout=30)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {line.pop("command"): line for line in lines}


def test_the_program_answers_for_every_command_and_runs_nothing_but_its_tools() -> None:
    answers = ask(["zpool", "no-such-action"], ["touch", "/tmp/x"], ["sh", "-c", "echo hello"])
    assert answers["touch /tmp/x"] == {"error": "touch is not installed"}
    assert answers["sh -c 'echo hello'"] == {"error": "sh is not installed"}
    assert set(answers["zpool no-such-action"]) == {"error"}


def test_a_tool_that_hangs_delays_no_other_answer(tmp_path: Path) -> None:
    fake = tmp_path / "nvme"
    fake.write_text("#!/bin/sh\n[ $1 = hang ] && exec sleep 60\necho $1\n")
    fake.chmod(0o755)
    program = f"""
import fstui.probes.claims as claims
claims.PATH, claims.EACH_S = "{tmp_path}:/usr/bin:/bin", 0.3
claims.main()
"""
    asked = json.dumps([["nvme", "hang"], ["nvme", "answer"]])
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, input=asked, capture_output=True, text=True, check=True, timeout=30)
    answers = {line.pop("command"): line for line in map(json.loads, done.stdout.splitlines())}
    assert answers == {"nvme answer": {"output": "answer\n"}, "nvme hang": {"error": "no answer for 0 s"}}
