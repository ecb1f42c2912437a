"""Caches and memory that may survive a power cut."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Process
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import flushed, step, write
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target
from tests.judge.rules.device.drives import CONTROLLER, NAND, OPTANE, PLP, drive, over_cache


@pytest.mark.parametrize(
    ("medium", "confidence", "kind"),
    [
        (PLP, "high", "a power-loss-protected drive"),
        (OPTANE, "high", "Optane"),
        (Medium(class_="ssd-plp", declared=True), "medium", "a power-loss-protected drive"),
    ],
)
def test_cheap_flush_on_a_protected_drive_is_plausible(medium: Medium, confidence: str, kind: str) -> None:
    judgement = verdict(on_disk(filesystem(), drive(medium)), write(20), flushed(40))
    assert (judgement.verdict, judgement.confidence) == ("plausible", confidence)
    assert finding(judgement, "protected-cache").title == f"a flush adds 20.0 µs, on {kind}"


def test_protected_drive_needs_a_measured_flush() -> None:
    assert "protected-cache" not in rules(verdict(on_disk(filesystem(), drive(PLP)), write(20)))


def test_protected_drive_in_a_guest_has_low_confidence() -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(20), flushed(40), host=GUEST)
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "What becomes of it beneath sda, on the host, cannot be seen from here." in judgement.sentence


def test_uncounted_bytes_give_low_confidence() -> None:
    uncounted = on_disk(filesystem(), drive(PLP, counted=False))
    found = finding(verdict(uncounted, write(20, share=None), flushed(40, share=None)), "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")


@pytest.mark.parametrize(
    ("top", "share"), [("ntfs3", 1.0), ("ext4", 0.5)], ids=["it may have compressed them", "some are missing"]
)
def test_partly_counted_bytes_give_low_confidence(top: str, share: float) -> None:
    where = on_disk(filesystem(top), drive(PLP))
    found = finding(verdict(where, write(20), flushed(40, share=share)), "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")


def test_disk_behind_a_protected_log_must_be_observed_too() -> None:
    pool = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "sdb"))
    log = drive(PLP, readings=readings(role="slog"))
    stack = target(filesystem("zfs", "/tank", below=("pool:tank",)), pool, log, drive(NAND, "sdb"))
    judgement = verdict(stack, write(20, flushes=0), flushed(40))
    found = finding(judgement, "protected-cache")
    assert (found.verdict, found.confidence) == ("plausible", "low")
    assert found.sentence.endswith("Of sdb it does not show: no work of its own was seen there.")


@pytest.mark.parametrize(
    "medium",
    [Medium(class_="ssd"), Medium(class_="network"), Medium(class_="ssd", ephemeral=True)],
    ids=["a local drive", "a network volume", "an instance store"],
)
def test_drive_that_reports_no_cache_has_low_confidence(medium: Medium) -> None:
    stack = on_disk(filesystem(), drive(medium, write_cache="write through", readings=readings(vwc="absent")))
    judgement = verdict(stack, write(500, flushes=0), flushed(600, flushes=0))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    assert "a drive without a volatile cache" in judgement.sentence


@pytest.mark.parametrize(
    ("tw", "ts", "hit"), [(20, 59, True), (20, 60, False), (5, 9.9, False)], ids=["cheap", "dear", "101 010/s"]
)
def test_cheap_flush_boundaries(tw: float, ts: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), drive(PLP)), write(tw), flushed(ts))
    assert ("protected-cache" in rules(judgement)) is hit


def test_one_unprotected_mirror_member_prevents_the_rule() -> None:
    members = block("md0", "md", "sda", "sdb", readings=readings(level="raid1"))
    stack = target(filesystem(below=("md0",)), members, drive(PLP), drive(NAND, "sdb"))
    both: dict[str, Any] = {"flushes": {"sda": 1, "sdb": 1}}
    judgement = verdict(stack, write(20, flushes={"sda": 0, "sdb": 0}), flushed(40, **both))
    assert "protected-cache" not in rules(judgement)


@pytest.mark.parametrize(
    ("kind", "mode", "hit"),
    [
        ("bcache", "writeback", True),
        ("bcache", "writethrough", False),
        ("dm-cache", "writeback", True),
        ("dm-cache", None, False),
        ("dm-writecache", None, True),
    ],
)
def test_write_back_cache_is_judged_by_its_fast_device(kind: str, mode: str | None, hit: bool) -> None:
    stack = over_cache(kind, mode, PLP, NAND)
    shares: dict[str, Any] = {"share": {"sda": 1.0, "sdb": 0.0}}
    steps = (
        write(20, flushes={"sda": 0, "sdb": 0}, **shares),
        flushed(40, flushes={"sda": 1, "sdb": 0}, **shares),
    )
    assert ("protected-cache" in rules(verdict(stack, *steps))) is hit


@pytest.mark.parametrize(
    ("per_s", "hit"), [(4_999, False), (5_000, True), (23_000, True), (30_000, True), (30_001, False)]
)
def test_raid_cache_boundaries(per_s: float, hit: bool) -> None:
    judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(1e6 / per_s))
    assert ("raid-cache" in rules(judgement)) is hit
    if hit:
        assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
        assert "battery" in judgement.sentence


def test_slow_raid_controller_is_consistent() -> None:
    judgement = verdict(on_disk(filesystem(), drive(CONTROLLER)), flushed(8_000))
    assert judgement.verdict == "consistent"


def test_single_drive_at_that_rate_is_no_controller() -> None:
    assert "raid-cache" not in rules(verdict(None, flushed(100)))


def test_raid_cache_needs_a_single_writer() -> None:
    stack = on_disk(filesystem(), drive(CONTROLLER))
    assert "raid-cache" not in rules(verdict(stack, flushed(100, writers=16)))


def pmem(domain: str | None = "memory_controller", provider: str = "ACPI.NFIT", **changes: Any) -> Node:
    told = readings(provider=provider, **({"persistence_domain": domain} if domain else {}))
    given = {"kind": "pmem", "counted": False, "link": None, "medium": Medium(), "fua": True, "readings": told}
    return disk("pmem0", **{**given, **changes})


def on_pmem(device: Node, **options: str) -> Target:
    return on_disk(filesystem(below=("pmem0",), **options), device)


def measured(where: Target, **fields: Any) -> Any:
    return verdict(where, step(flushes=None, device="pmem0", rate=90_000, ops=9_000), **fields)


@pytest.mark.parametrize("options", [{}, {"dax": "always"}], ids=["by blocks", "DAX"])
def test_persistent_memory_is_plausible(options: dict[str, str]) -> None:
    judgement = measured(on_pmem(pmem(), **options))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    found = finding(judgement, "persistent-memory")
    assert "The platform claims that data which has reached the memory controller" in found.sentence
    assert "flush" not in found.sentence  # the kernel's trace shows one without DAX
    assert "pmem0 persistence_domain: memory_controller (/read/persistence_domain)" in found.because


def test_hypervisor_is_named_as_the_source_of_the_claim() -> None:
    assert "The hypervisor claims" in finding(measured(on_pmem(pmem()), host=GUEST), "persistent-memory").sentence


@pytest.mark.parametrize("options", [{}, {"dax": "always"}], ids=["by blocks", "DAX"])
def test_memory_without_a_persistence_domain_gives_cannot_tell(options: dict[str, str]) -> None:
    silent = pmem(None, because="the platform does not say what outlives a power cut")
    judgement = measured(on_pmem(silent, **options))
    assert (judgement.verdict, rules(judgement) & {"persistent-memory"}) == ("cannot-tell", set())
    assert "the platform does not say" in judgement.sentence
    assert "5.5" not in judgement.sentence


def test_stripe_of_memory_and_disk_is_not_persistent_memory() -> None:
    stripe = block("dm-0", "dm-stripe", "pmem0", "sda")
    both = target(filesystem(below=("dm-0",)), stripe, pmem(), disk())
    judgement = verdict(both, step(flushes={"pmem0": None, "sda": 1}, share={"pmem0": None, "sda": 0.5}))
    assert "persistent-memory" not in rules(judgement)


def test_stubbed_syncs_take_precedence_over_memory() -> None:
    judgement = measured(on_pmem(pmem()), process=Process(pipe_fsync_fails=False))
    assert rules(judgement) == {"sync-stubbed"}


def test_persistent_memory_needs_a_run() -> None:
    assert "persistent-memory" not in rules(verdict(on_pmem(pmem())))


@pytest.mark.parametrize(("provider", "word"), [("ACPI.NFIT", "plausible"), ("virtio-pmem", "not-durable")])
def test_barriers_off_above_persistent_memory(provider: str, word: str) -> None:
    assert measured(on_pmem(pmem(None, provider), barrier="nobarrier")).verdict == word
