"""Whether flushes take longer for more data, and which of the lowest devices were observed to do work."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.judge.facts.flush_work import FlushGrowth, LowestDevices
from fstui.measure.kinds.dirty_flush import DirtyFlushFigures
from fstui.model.counters import DeviceTimes
from fstui.model.host import Host
from fstui.model.quantities import duration_ns
from fstui.model.steps import Step
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, METAL, busy, evidence, quiet
from tests.factories.growth import GROWN_US, flushes
from tests.factories.steps import flushed, step, traced
from tests.factories.storage import block, disk, filesystem, on_disk, on_pool, readings, target
from tests.judge.rules.device.drives import CONTROLLER, PLP


def growth(
    arrived: float | None = 1.0, own: dict[str, float] | None = None, us: Sequence[float] = GROWN_US
) -> FlushGrowth:
    """``own``: the share of each flush time that the devices took themselves."""
    figures = flushes(us, arrived, own).figures
    assert isinstance(figures, DirtyFlushFigures) and figures.sequential
    return FlushGrowth(step(), "sequential", figures.sequential.points)


@pytest.mark.parametrize(("arrived", "flat"), [(0.95, False), (0.94, True), (None, True)])
def test_growth_counts_only_if_the_bytes_had_arrived_before(arrived: float | None, flat: bool) -> None:
    found = growth(arrived)
    assert found.shows_work is not flat and found.appears_to_grow


@pytest.mark.parametrize(("longest_us", "flat"), [(12_000, False), (3_200, False), (3_000, True)])
def test_trace_decides_if_the_device_counts_no_time(longest_us: int, flat: bool) -> None:
    own = DeviceTimes(p50=50_000, p99=None, max=longest_us * 1000)
    measured = replace(step(), trace=(traced(device_flush_ns=own), traced("dm-0")))
    found = growth()._replace(step=measured)
    assert (found.shows_work, found.device_times_are_flat) == (not flat, flat)
    assert found.evidence.endswith(
        f"; longest flush of a device: {duration_ns(longest_us * 1000)} (the kernel's trace)"
    )
    assert not growth(own={"sda": 0.0})._replace(step=measured).shows_work
    on_paths = growth(own={})  # dm-multipath counts the flushes that it sends
    assert (on_paths.has_device_times, on_paths.shows_work) == (False, True)
    assert on_paths._replace(step=measured).shows_work is not flat


def test_device_that_was_as_slow_before_does_not_work_longer() -> None:
    assert growth(own={"sda": 1.0}, us=(300, 700, 12_000, 12_500, 12_900)).flushing_devices == set()
    assert growth(own={"sda": 1.0}).flushing_devices == {"sda"}


def devices(where: Target, *steps: Step, host: Host = METAL) -> LowestDevices:
    return Case(evidence(where, *steps, host=host, idle=quiet("sda", "sdb", "sdc"))).lowest_devices


def growing(*at: str) -> tuple[Step, Step]:
    """Every flush arrived, and took longer at these devices for more unsynced data."""
    return flushed(400, device="sda"), flushes(GROWN_US, own=dict.fromkeys(at, 1.0))


def test_growth_above_the_device_shows_no_work() -> None:
    honest, grown = growing("sda")
    assert devices(on_disk(), honest, grown).verified
    above = flushes(GROWN_US, 0.0, own={"sda": 1.0})
    changed = replace(grown, changed=("sda: FUA no → yes",))
    assert not devices(on_disk(), honest, above).verified
    assert not devices(on_disk(), honest, changed).verified


def names(nodes: tuple[Node, ...]) -> list[str]:
    return [node.id for node in nodes]


@pytest.mark.parametrize(("role", "holds"), [("spare", False), ("l2arc", False), ("mirror leg", True), ("slog", True)])
def test_spare_and_read_cache_hold_no_data(role: str, holds: bool) -> None:
    where = on_pool(disk(), disk("sdb", readings=readings(role=role)))
    assert names(devices(where).all) == (["sda", "sdb"] if holds else ["sda"])


@pytest.mark.parametrize(
    ("changes", "verified"),
    [
        *(({"link": link, "readings": readings(form_factor="3")}, True) for link in ("sata", "sas", "nvme", "mmc")),
        *(({"link": link}, False) for link in ("virtio", "usb", "scsi", "fc", None)),
        ({"model": "QEMU HARDDISK"}, False),
        ({"medium": CONTROLLER}, False),
        ({"link": "nvme", "readings": readings(transport="tcp")}, False),
        ({"model": "DELLBOSS VD"}, False),
        ({"model": "MARVELL Raid VD 0"}, False),
        ({"link": "nvme", "model": "BlueField"}, False),
        # without a form factor, a SAS device may be an array
        ({"link": "sas"}, False),
        ({"link": "sas", "readings": readings(rpm="7200")}, False),
        ({"link": "sas", "readings": readings(form_factor="2")}, True),
        ({"link": "sas", "medium": Medium(class_="ssd", declared=True)}, True),
    ],
    ids=[
        *("SATA", "SAS", "NVMe", "eMMC", "virtio", "USB", "SCSI", "FC", "no link"),
        *("QEMU", "controller", "NVMe over TCP", "BOSS", "Marvell", "BlueField"),
        *("SAS alone", "SAS, revolutions", "SAS, form factor", "SAS, declared"),
    ],
)
def test_only_a_directly_attached_drive_is_verified(changes: dict[str, Any], verified: bool) -> None:
    where = on_disk(None, disk(**changes))
    assert devices(where, *growing("sda")).verified is verified
    assert not devices(where, *growing()).verified
    in_guest = devices(where, *growing("sda"), host=GUEST)
    assert names(in_guest.unverified) == ["sda"]
    assert in_guest.doubt() == " fstui cannot see what the host does with data for sda."


@pytest.mark.parametrize(
    ("medium", "kept"),
    [
        (PLP, True),
        (Medium(class_="raid-cache", write_cache="plp", declared=True), True),
        (Medium(class_="raid-cache", write_cache="plp"), False),
        (CONTROLLER, False),
        (Medium(write_cache="none"), False),
    ],
    ids=["by its model", "declared", "a controller's model", "a controller", "states no cache"],
)
def test_safe_drive_needs_no_evidence_of_work(medium: Medium, kept: bool) -> None:
    where = on_disk(None, disk(medium=medium))
    assert devices(where).verified is kept
    assert not devices(where, host=GUEST).verified


def test_memory_is_not_named_as_unverified() -> None:
    cached = block("dm-0", "dm-cache", "ram0", "sda", readings=readings(cache_mode="writethrough"))
    memory = disk("ram0", medium=Medium(class_="memory"), readings=readings(role="cache"))
    where = target(filesystem(below=("dm-0",)), cached, memory, disk())
    found = devices(where, *growing("sda"), host=GUEST)
    assert names(found.unverified) == ["ram0", "sda"]
    assert found.doubt() == " fstui cannot see what the host does with data for sda."


def test_nothing_is_verified_while_other_processes_flush() -> None:
    noisy = step(flushes=3.0, share=2.0, changes={"trace": (traced(us=2000, others=4000),)})
    case = Case(evidence(on_disk(), noisy, growing("sda")[1], idle=busy("sda", 900)))
    assert case.flushes.proof and case.flushes.proof.depth and case.flushes.complete_lowest_account is None
    assert not case.lowest_devices.verified
