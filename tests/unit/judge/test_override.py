"""Rules 1, 2, 3, 5 and 6: what the configuration alone decides, before a byte is written."""

from __future__ import annotations

import pytest

from fstui.model import Medium, MediumCache, MediumClass, Node, Process, Reading, Target
from tests.unit.judge.evidence import (
    HONEST_PROCESS,
    block,
    disk,
    filesystem,
    finding,
    loop,
    on_disk,
    on_loop,
    readings,
    rules,
    step,
    target,
    verdict,
)

EATMYDATA = Reading(what="preload", value="/usr/lib/libeatmydata.so", path="/proc/self/maps")


def test_an_honest_box_has_no_flag() -> None:
    judgement = verdict()
    assert judgement.findings == ()
    assert judgement.verdict == "cannot-tell"
    assert "run fsync-rate" in judgement.sentence


@pytest.mark.parametrize(
    "process",
    [
        Process(pipe_fsync_fails=False),
        Process(dsync_flag_kept=False),
        Process(libc_sync_ns=1_100, raw_sync_ns=101_000),
        Process(preloads=(EATMYDATA,)),
    ],
)
def test_sync_stubbed_by_any_of_its_signs(process: Process) -> None:
    judgement = verdict(process=process)
    found = finding(judgement, "sync-stubbed")
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "process")
    assert judgement.verdict == "not-durable"
    assert "the disk was not judged" in judgement.sentence
    assert found.because


@pytest.mark.parametrize(
    "process",
    [
        HONEST_PROCESS,
        Process(),
        Process(libc_sync_ns=1_100, raw_sync_ns=1_050),  # tmpfs: both are fast
        Process(libc_sync_ns=5_000, raw_sync_ns=25_000),
        Process(libc_sync_ns=4_999, raw_sync_ns=24_000),  # less than five times
    ],
)
def test_sync_path_that_is_no_stub(process: Process) -> None:
    assert "sync-stubbed" not in rules(verdict(process=process))


def test_a_stubbed_process_elsewhere_leaves_what_was_measured_here_standing() -> None:
    stub = Process(pid=812, name="mysqld", preloads=readings(sync_stub="/usr/lib/libeatmydata.so"))
    judgement = verdict(None, step(), like=stub)
    assert judgement.verdict == "not-durable"
    assert {"sync-stubbed", "flushes-arrive"} <= rules(judgement)


def test_a_stubbed_process_says_nothing_about_the_disk() -> None:
    unsynced = step(flushes=0, share=0)
    judgement = verdict(None, unsynced, process=Process(pipe_fsync_fails=False))
    assert rules(judgement) == {"sync-stubbed"}


TMPFS = filesystem("tmpfs", below=("memory:tmpfs",))
MEMORY = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
IN_TMPFS = Node(id="mount:/", layer="filesystem", kind="tmpfs", name="/", below=("memory:tmpfs",))


@pytest.mark.parametrize(
    "stack",
    [
        target(TMPFS, MEMORY),
        target(filesystem("ramfs", below=())),
        on_disk(filesystem(below=("zram0",)), disk("zram0", kind="zram", write_cache="write through", counted=False)),
        on_disk(filesystem(below=("ram0",)), disk("ram0", kind="ram", write_cache=None, counted=False)),
        target(*on_loop(IN_TMPFS).stack[:4], MEMORY),
        target(filesystem("overlay", below=("mount:/",)), IN_TMPFS, MEMORY),
        target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "zram0"), disk("zram0", kind="zram")),
        on_disk(filesystem(), disk(medium=Medium(class_="memory", declared=True))),
    ],
    ids=["tmpfs", "ramfs", "zram", "brd", "loop in tmpfs", "overlay on tmpfs", "dm on zram", "declared"],
)
def test_in_memory_wherever_it_hides(stack: Target) -> None:
    judgement = verdict(stack)
    assert rules(judgement) == {"in-memory"}
    found = finding(judgement, "in-memory")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert len(found.because) == 1


def test_a_loop_in_memory_gets_its_flushes_and_is_still_not_durable() -> None:
    judgement = verdict(target(*on_loop(IN_TMPFS).stack[:4], MEMORY), step(device="loop0"))
    assert judgement.verdict == "not-durable"
    assert rules(judgement) == {"in-memory"}


@pytest.mark.parametrize("value", ["volatile", "fsync=volatile"])
def test_overlay_volatile(value: str) -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), volatile=value, upperdir="/srv/upper")
    judgement = verdict(target(overlay, *on_disk().stack), step(flushes=0, share=0))
    found = finding(judgement, "overlay-volatile")
    assert rules(judgement) == {"overlay-volatile"}
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert any("/srv/upper" in line for line in found.next)


def test_an_overlay_that_syncs_is_judged_by_its_upper_filesystem() -> None:
    overlay = filesystem("overlay", "/merged", below=("mount:/srv",), upperdir="/srv/upper")
    judgement = verdict(target(overlay, *on_disk().stack), step())
    assert judgement.verdict == "consistent"


class TestBarriersOff:
    NOBARRIER = filesystem(barrier="nobarrier")

    def test_above_a_write_cache_is_not_durable(self) -> None:
        judgement = verdict(on_disk(self.NOBARRIER), step(flushes=0))
        assert rules(judgement) == {"barriers-off"}  # flushes-missing would tell the same story twice
        found = finding(judgement, "barriers-off")
        assert (found.verdict, found.confidence) == ("not-durable", "high")
        assert "/srv" in found.sentence
        assert "sda" in found.sentence

    def test_stays_so_beside_a_neighbour_that_commits(self) -> None:
        judgement = verdict(on_disk(self.NOBARRIER), step(flushes=2.7))
        assert judgement.verdict == "not-durable"
        assert "flushes-arrive" not in rules(judgement)

    @pytest.mark.parametrize(("class_", "cache"), [("raid-cache", "unknown"), ("ssd-plp", "plp")])
    def test_above_a_protected_cache_is_plausible(self, class_: MediumClass, cache: MediumCache) -> None:
        protected = disk(medium=Medium(class_=class_, write_cache=cache))
        judgement = verdict(on_disk(self.NOBARRIER, protected), step(flushes=0))
        found = finding(judgement, "barriers-off")
        assert (found.verdict, found.confidence) == ("plausible", "medium")
        assert "battery" in found.next[0]
        assert rules(judgement) == {"barriers-off"}

    def test_above_disks_without_caches_is_plausible(self) -> None:
        both = disk(write_cache="write through"), disk("sdb", write_cache="write through")
        # md always claims a write cache of its own
        array = block("md0", "md", "sda", "sdb", write_cache="write back", readings=readings(level="raid1"))
        top = filesystem(barrier="nobarrier", below=("md0",))
        assert finding(verdict(target(top, array, *both)), "barriers-off").verdict == "plausible"

    def test_of_the_filesystem_below_a_loop_counts_as_well(self) -> None:
        stack = on_loop(filesystem(name="/", barrier="nobarrier"))
        judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
        assert judgement.verdict == "not-durable"
        assert "ext4 /" in finding(judgement, "barriers-off").sentence

    def test_above_caches_that_nobody_knows_cannot_be_told(self) -> None:
        unknown = disk(write_cache=None)
        assert finding(verdict(on_disk(self.NOBARRIER, unknown)), "barriers-off").verdict == "cannot-tell"

    def test_of_zfs_is_undone_where_it_was_set(self) -> None:
        pool = Node(id="pool:tank", layer="pool", kind="zfs", name="tank", lowest=True)
        zfs = filesystem("zfs", below=("pool:tank",), barrier="nobarrier")
        assert finding(verdict(target(zfs, pool)), "barriers-off").next[0].startswith("echo 0 > /read/barrier")


class TestWriteThroughOverride:
    @pytest.mark.parametrize(
        "claim",
        [
            {"cache_type": "write back"},
            {"cache_type": "write back, no read (daft)"},
            {"cache_type": "temporary write back"},
        ],
    )
    def test_against_the_driver(self, claim: dict[str, str]) -> None:
        judgement = verdict(
            on_disk(filesystem(), disk(write_cache="write through", readings=readings(**claim))), step(flushes=0)
        )
        found = finding(judgement, "write-through-override")
        assert (found.verdict, found.confidence) == ("not-durable", "high")
        assert rules(judgement) == {"write-through-override"}

    def test_against_udev_where_the_driver_says_nothing(self) -> None:
        overridden = disk(write_cache="write through", readings=readings(ID_ATA_WRITE_CACHE_ENABLED="1"))
        assert verdict(on_disk(filesystem(), overridden)).verdict == "not-durable"

    def test_not_against_udev_where_the_driver_knows_better(self) -> None:
        switched_off = readings(ID_ATA_WRITE_CACHE_ENABLED="1", cache_type="write through")
        assert rules(verdict(on_disk(filesystem(), disk(write_cache="write through", readings=switched_off)))) == set()

    def test_of_a_loop_over_a_disk_with_a_cache(self) -> None:
        stack = on_loop(device=loop(write_cache="write through"))
        judgement = verdict(stack, step(flushes={"loop0": 0, "sda": 0}))
        found = finding(judgement, "write-through-override")
        assert "loop0" in found.title
        assert any(line.startswith("sda") for line in found.because)
        assert rules(judgement) == {"write-through-override"}

    def test_of_a_loop_whose_page_cache_is_the_cache(self) -> None:
        through = disk(write_cache="write through")
        buffered = on_loop(device=loop(dio="0", write_cache="write through"), below=through)
        direct = on_loop(device=loop(dio="1", write_cache="write through"), below=through)
        assert rules(verdict(buffered)) == {"write-through-override"}
        assert rules(verdict(direct)) == set()

    @pytest.mark.parametrize(
        ("words", "hit"),
        [
            ({"drive_cache": "on"}, True),
            ({"drive_cache": "off", "cache_type": "write back"}, False),
            ({"vwc": "present"}, True),
            ({"vwc": "present", "drive_cache": "off"}, False),
            ({"vwc": "absent", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
            ({"cache_type": "write through", "ID_ATA_WRITE_CACHE_ENABLED": "1"}, False),
            ({"ID_ATA_WRITE_CACHE_ENABLED": "1"}, True),
        ],
        ids=["drive on", "drive off", "NVMe has one", "NVMe has one, off", "NVMe has none", "driver", "udev"],
    )
    def test_the_best_witness_of_the_drives_cache_counts_alone(self, words: dict[str, str], hit: bool) -> None:
        drive = disk(write_cache="write through", readings=readings(**words))
        assert ("write-through-override" in rules(verdict(on_disk(filesystem(), drive)))) is hit

    def test_not_of_a_read_only_loop(self) -> None:
        read_only = loop(write_cache="write through")
        read_only = disk("loop0", kind="loop", lowest=False, below=read_only.below, write_cache="write through",
                         readings=(*read_only.readings, *readings(ro="1")))  # fmt: skip
        assert rules(verdict(on_loop(device=read_only))) == set()

    def test_names_the_disk_and_not_the_dm_that_computes_its_flag_from_it(self) -> None:
        top = filesystem(below=("dm-0",))
        linear = block("dm-0", "dm-linear", "sda", write_cache="write through")
        overridden = disk(write_cache="write through", readings=readings(cache_type="write back"))
        assert "sda" in finding(verdict(target(top, linear, overridden)), "write-through-override").title

    @pytest.mark.parametrize(
        "stack",
        [
            target(
                filesystem(below=("dm-0",)),
                block("dm-0", "dm-linear", "sda", write_cache="write through"),
                disk(write_cache="write through"),
            ),
            target(
                filesystem(below=("md0",)),
                block("md0", "md", "sda", write_cache="write back"),
                disk(write_cache="write through"),
            ),
            on_disk(
                filesystem(below=("vda",)),
                disk("vda", link="virtio", write_cache="write through", readings=readings(cache_type="write through")),
            ),
        ],
        ids=["dm", "md always claims a cache", "virtio without a cache"],
    )
    def test_is_silent_where_nothing_contradicts(self, stack: Target) -> None:
        assert rules(verdict(stack)) == set()
