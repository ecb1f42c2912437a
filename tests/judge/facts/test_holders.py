"""Which lowest devices hold what was acknowledged, and which of them were seen to keep it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.holders import Holders
from fstui.model.host import Host
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, busy, evidence, quiet
from tests.factories.growth import GROWN_US, flushes
from tests.factories.steps import flushed, step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target
from tests.judge.rules.device.drives import CONTROLLER, PLP
from tests.judge.rules.rotation.platters import SPINNING, same_block


def holders(where: Target, *steps: Step, host: Host = METAL) -> Holders:
    return Case(evidence(where, *steps, host=host, idle=quiet("sda", "sdb", "sdc"))).holders


def growing(*at: str) -> tuple[Step, Step]:
    """Every flush arrived, and took longer at these the more there was to write."""
    return flushed(400, device="sda"), flushes(GROWN_US, own=dict.fromkeys(at, 1.0))


def test_growth_above_the_device_and_on_a_storage_that_changed_shows_no_work() -> None:
    honest, grown = growing("sda")
    assert holders(on_disk(), honest, grown).vouched
    above = flushes(GROWN_US, 0.0, own={"sda": 1.0})
    changed = replace(grown, changed=("sda: FUA no → yes",))
    assert not holders(on_disk(), honest, above).vouched
    assert not holders(on_disk(), honest, changed).vouched


def names(nodes: tuple[Node, ...]) -> list[str]:
    return [node.id for node in nodes]


@pytest.mark.parametrize(
    ("top", "role"),
    [("ext4", "journal"), ("xfs", "log")],
)
def test_a_journal_of_its_own_is_not_seen_by_what_the_data_does(top: str, role: str) -> None:
    where = target(filesystem(top, below=("sda", "sdb")), disk(), disk("sdb", readings=readings(role=role)))
    found = holders(where, *growing("sda"))
    assert (names(found.all), names(found.unseen), found.vouched) == (["sda", "sdb"], ["sdb"], False)
    assert found.doubt() == " Of sdb it does not show: no work of its own was seen there."
    assert holders(where, *growing("sda", "sdb")).vouched


@pytest.mark.parametrize(("role", "holds"), [("spare", False), ("l2arc", False), ("mirror leg", True), ("slog", True)])
def test_a_spare_and_a_read_cache_hold_nothing(role: str, holds: bool) -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "sdb"))
    where = target(
        filesystem("zfs", "/tank", below=("pool:tank",)), pool, disk(), disk("sdb", readings=readings(role=role))
    )
    assert names(holders(where).all) == (["sda", "sdb"] if holds else ["sda"])


@pytest.mark.parametrize(
    "changes",
    [
        {"link": "virtio"},
        {"link": "usb"},
        {"link": "scsi"},
        {"link": "fc"},
        {"link": None},
        {"model": "QEMU HARDDISK"},
        {"medium": CONTROLLER},
        {"link": "nvme", "readings": readings(transport="tcp")},
    ],
    ids=["virtio", "usb", "scsi", "fc", "unknown", "made by a hypervisor", "controller", "fabric"],
)
def test_work_behind_somebody_elses_memory_is_not_the_drives(changes: dict[str, Any]) -> None:
    assert not holders(on_disk(None, disk(**changes)), *growing("sda")).vouched


@pytest.mark.parametrize(
    ("link", "model"), [("sata", "DELLBOSS VD"), ("sata", "MARVELL Raid VD 0"), ("nvme", "BlueField")]
)
def test_what_a_controller_makes_of_drives_is_no_drive(link: str, model: str) -> None:
    assert not holders(on_disk(None, disk(link=link, model=model)), *growing("sda")).vouched


@pytest.mark.parametrize("link", ["sata", "sas", "nvme", "mmc"])
def test_a_drive_of_this_box_is_seen_at_work_and_a_guests_is_not(link: str) -> None:
    where = on_disk(None, disk(link=link, readings=readings(form_factor="3")))
    assert holders(where, *growing("sda")).vouched
    assert not holders(where, *growing()).vouched
    in_guest = holders(where, *growing("sda"), host=GUEST)
    assert names(in_guest.unseen) == ["sda"]
    assert in_guest.doubt() == " What becomes of it beneath sda, on the host, cannot be seen from here."


@pytest.mark.parametrize(
    ("changes", "vouched"),
    [
        ({}, False),
        ({"readings": readings(rpm="7200")}, False),
        ({"readings": readings(form_factor="2")}, True),
        ({"medium": Medium(class_="ssd", declared=True)}, True),
    ],
    ids=["states nothing", "its disks' turns", "a drive's case", "declared"],
)
def test_what_states_no_case_on_sas_may_be_an_array_with_a_memory(changes: dict[str, Any], vouched: bool) -> None:
    assert holders(on_disk(None, disk(link="sas", **changes)), *growing("sda")).vouched is vouched


@pytest.mark.parametrize(
    ("medium", "kept"),
    [
        (PLP, True),
        (Medium(class_="raid-cache", write_cache="plp", declared=True), True),
        (Medium(class_="raid-cache", write_cache="plp"), False),
        (CONTROLLER, False),
        (Medium(write_cache="none"), False),
    ],
    ids=["by its model", "declared", "a controller's model", "a controller", "its own word"],
)
def test_what_is_known_to_lose_nothing_needs_no_witness(medium: Medium, kept: bool) -> None:
    where = on_disk(None, disk(medium=medium))
    assert holders(where).vouched is kept
    assert not holders(where, host=GUEST).vouched


def test_a_platter_is_seen_by_the_turns_that_it_takes_itself() -> None:
    assert holders(SPINNING, same_block(100)).vouched
    assert not holders(SPINNING, same_block(100, own=0.2)).vouched


def test_of_two_stripes_the_one_that_takes_no_time_is_named() -> None:
    array = block("md0", "md", "sda", "sdb", readings=readings(level="raid0"))
    where = target(filesystem(below=("md0",)), array, disk(), disk("sdb"))
    found = holders(
        where, flushed(400, flushes={"sda": 1, "sdb": 1}, share={"sda": 0.5, "sdb": 0.5}), growing("sdb")[1]
    )
    assert names(found.unseen) == ["sda"]
    assert found.doubt(beside=found.unseen) == ""


def test_of_memory_it_is_known_what_becomes_of_it() -> None:
    cached = block("dm-0", "dm-cache", "ram0", "sda", readings=readings(cache_mode="writethrough"))
    memory = disk("ram0", medium=Medium(class_="memory"), readings=readings(role="cache"))
    where = target(filesystem(below=("dm-0",)), cached, memory, disk())
    found = holders(where, *growing("sda"), host=GUEST)
    assert names(found.unseen) == ["ram0", "sda"]
    assert found.doubt() == " What becomes of it beneath sda, on the host, cannot be seen from here."


def test_without_a_stack_nothing_is_vouched_for() -> None:
    assert not holders(target(filesystem(below=()))).vouched


def test_amid_others_the_time_of_a_flush_may_be_theirs() -> None:
    """However well the trace tells whose flushes they were."""
    beside = step(flushes=3.0, share=2.0, changes={"trace": (traced(us=2000, others=4000),)})
    case = Case(evidence(on_disk(), beside, growing("sda")[1], idle=busy("sda", 900)))
    assert case.flushes.arrived and case.flushes.at_the_bottom is None
    assert not case.holders.vouched
