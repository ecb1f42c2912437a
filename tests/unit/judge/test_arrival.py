"""Rules 0, 9 and 10: counting flushes and bytes on the way down."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fstui.model import Idle, Medium, Node, Step, Target
from tests.unit.judge.evidence import (
    GUEST,
    METAL,
    block,
    busy,
    counted,
    disk,
    filesystem,
    finding,
    loop,
    on_disk,
    on_loop,
    quiet,
    readings,
    rules,
    step,
    target,
    verdict,
)

HONEST: dict[str, float | None] = {"loop0": 1.0, "sda": 1.3}


class TestFlushesArrive:
    def test_one_flush_per_fdatasync_is_consistent(self) -> None:
        judgement = verdict(None, step())
        assert (judgement.verdict, judgement.confidence) == ("consistent", "medium")
        assert judgement.sentence == (
            "2 000 syncs reached sda as 1.00 flushes each (1 owed), and all 31.2 MiB arrived. "
            "This covers the 1.0 s measured; only a power cut proves more."
        )

    def test_in_a_guest_the_confidence_is_low(self) -> None:
        assert verdict(None, step(), host=GUEST).confidence == "low"
        assert verdict(None, step(), host=METAL).confidence == "medium"

    def test_without_an_idle_sample_the_confidence_is_low(self) -> None:
        judgement = verdict(None, step(), idle=None)
        assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
        assert any("idle: not measured" in line for line in judgement.findings[0].because)

    @pytest.mark.parametrize(
        ("top", "fua", "flushes", "settings"),
        [
            (filesystem(), False, 1, {}),
            (filesystem(), True, 1, {}),
            (filesystem("xfs"), False, 1, {}),
            (filesystem(journal="no"), False, 1, {}),
            (filesystem(), False, 1.05, {"sync": "fsync"}),
            (filesystem(), False, 2.0, {"sync": "fsync"}),
            (filesystem(), False, 1, {"sync": "none", "open_flags": ("direct", "dsync")}),
            (filesystem(), True, 1, {"sync": "none", "open_flags": ("dsync",)}),
            (filesystem(), False, 1.9, {"sync": "none", "open_flags": ("sync",)}),
            (filesystem(), False, 2, {"offsets": "append", "prefill": "none"}),
            (filesystem(), True, 1, {"offsets": "append", "prefill": "none"}),
            (filesystem(), False, 2, {"prefill": "fallocate"}),
        ],
    )
    def test_what_a_filesystem_that_writes_in_place_owes(
        self, top: Node, fua: bool, flushes: float, settings: dict[str, Any]
    ) -> None:
        judgement = verdict(on_disk(top, disk(fua=fua)), step(flushes=flushes, **settings))
        assert rules(judgement) == {"flushes-arrive"}
        assert judgement.verdict == "consistent"

    @pytest.mark.parametrize(
        ("top", "fua", "flushes"),
        [
            (filesystem("btrfs"), False, 2),
            (filesystem("btrfs"), True, 1),
            (filesystem(data="journal"), False, 2),
            (filesystem(data="journal"), False, 3),
            (filesystem(data="journal"), True, 1),
            (filesystem(data="journal"), True, 3),
        ],
    )
    def test_what_one_that_writes_everything_twice_owes(self, top: Node, fua: bool, flushes: float) -> None:
        for sync in ("fdatasync", "fsync"):
            judgement = verdict(on_disk(top, disk(fua=fua)), step(flushes=flushes, share=5, sync=sync))
            assert rules(judgement) == {"flushes-arrive"}
            assert judgement.verdict == "consistent"

    def test_a_fua_write_is_not_counted_and_none_is_owed(self) -> None:
        direct = step(flushes=0, sync="none", open_flags=("direct", "dsync"))
        judgement = verdict(on_disk(filesystem(), disk(fua=True)), direct)
        assert rules(judgement) == set()
        assert judgement.verdict == "cannot-tell"
        assert "run a step with fdatasync" in judgement.sentence

    def test_md_claims_fua_and_its_disk_without_it_gets_a_flush(self) -> None:
        array = block("md0", "md", "sda", fua=True, write_cache="write back", readings=readings(level="linear"))
        direct = step(flushes=1, sync="none", open_flags=("direct", "dsync"))
        assert verdict(target(filesystem(below=("md0",)), array, disk()), direct).verdict == "consistent"

    @pytest.mark.parametrize(
        ("flushes", "word"),
        [
            ({"sda": 1, "sdb": 1}, "consistent"),
            ({"sda": 0.5, "sdb": 0.5}, "consistent"),
            ({"sda": 0, "sdb": 1}, "consistent"),
            ({"sda": 0.4, "sdb": 0.4}, "not-durable"),
            ({"sda": 0, "sdb": 0}, "not-durable"),
        ],
        ids=["mirror", "stripe", "log", "too few", "none"],
    )
    def test_zfs_owes_one_to_whichever_devices_hold_its_intent_log(self, flushes: dict[str, float], word: str) -> None:
        pool = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "sdb"))
        stack = target(filesystem("zfs", "/tank", below=("pool:tank",)), pool, disk("sda"), disk("sdb"))
        share = {device: 2 if per_sync else 0 for device, per_sync in flushes.items()}
        assert verdict(stack, step(flushes=flushes, share=share)).verdict == word

    @pytest.mark.parametrize("kind", ["f2fs", "bcachefs", "ntfs3", "vfat"])
    def test_what_other_filesystems_owe_is_not_known(self, kind: str) -> None:
        judgement = verdict(on_disk(filesystem(kind)), step(flushes=0))
        assert rules(judgement) == set()
        assert judgement.verdict == "cannot-tell"
        assert "not known" in judgement.sentence

    @pytest.mark.parametrize(
        "unfit",
        [
            step(ops=19),
            step(writers=16, flushes=0.1, share=0.51),
            step(status="failed", flushes=0),
            step(status="skipped", flushes=0),
            step(sync="none", flushes=0, share=0),
            step(flushes=0, changes={"probe": "sysbench"}),
            step(flushes=0.5, open_flags=("dsync",)),
        ],
        ids=["too few syncs", "16 writers", "failed", "skipped", "no sync", "another probe", "synced twice"],
    )
    def test_what_a_step_must_be_to_count(self, unfit: Step) -> None:
        judgement = verdict(None, unfit)
        assert not rules(judgement) & {"flushes-arrive", "flushes-missing", "bytes-missing", "same-block-rotation"}
        assert judgement.verdict == "cannot-tell"
        assert "at least 20 times" in judgement.sentence

    def test_a_stopped_step_with_enough_syncs_counts(self) -> None:
        assert verdict(None, step(status="stopped", ops=20)).verdict == "consistent"

    def test_write_through_owes_nothing_and_proves_nothing(self) -> None:
        judgement = verdict(on_disk(filesystem(), disk(write_cache="write through")), step(flushes=0))
        assert rules(judgement) == set()
        assert judgement.verdict == "cannot-tell"
        assert "no volatile cache" in judgement.sentence

    def test_a_device_that_counts_nothing_cannot_tell(self) -> None:
        uncounted = disk(counted=False, readings=readings(iostats="0"))
        judgement = verdict(on_disk(filesystem(), uncounted), step(flushes=None, share=None))
        assert rules(judgement) == set()
        assert judgement.verdict == "cannot-tell"
        assert "iostats" in judgement.sentence

    def test_the_zeros_of_a_device_that_does_not_count_are_no_zeros(self) -> None:
        assert verdict(on_disk(filesystem(), disk(counted=False)), step(flushes=0, share=0)).verdict == "cannot-tell"

    def test_dax_passes_every_counter_by(self) -> None:
        judgement = verdict(on_disk(filesystem(dax="always")), step(flushes=0, share=0))
        assert judgement.verdict == "cannot-tell"
        assert "DAX" in judgement.sentence


class TestNeighbours:
    def test_two_flushes_per_sync_on_an_honest_disk_prove_nothing(self) -> None:
        judgement = verdict(None, step(flushes=2.01))
        found = finding(judgement, "flushes-arrive")
        assert (found.verdict, found.confidence) == ("cannot-tell", "low")
        assert judgement.verdict == "cannot-tell"
        assert "2.01" in judgement.sentence
        assert "other-writers" in rules(judgement)

    def test_are_named(self) -> None:
        judgement = verdict(None, step(flushes=1.3), idle=busy("sda", 400, "mysqld", "journald"))
        assert "400 flushes/s" in judgement.sentence
        assert "mysqld and journald" in judgement.sentence

    def test_that_flush_while_idle_spoil_a_clean_count(self) -> None:
        assert verdict(None, step(), idle=busy("sda", 101)).verdict == "cannot-tell"
        assert verdict(None, step(), idle=busy("sda", 99)).verdict == "consistent"

    def test_that_only_write_bytes_are_seen_too(self) -> None:
        assert verdict(None, step(share=1.2)).verdict == "cannot-tell"

    def test_cannot_excuse_missing_flushes(self) -> None:
        judgement = verdict(None, step(flushes=0.85), idle=busy("sda", 1000))
        assert judgement.verdict == "not-durable"

    def test_hide_between_one_and_two_only_where_there_is_no_exact_count(self) -> None:
        fsync = step("fsync", sync="fsync", flushes=1.9)
        assert verdict(None, fsync).verdict == "consistent"
        assert verdict(None, fsync, step(flushes=1.9)).verdict == "cannot-tell"

    def test_in_one_step_of_three_do_not_spoil_the_others(self) -> None:
        judgement = verdict(None, step("a"), step("b", flushes=1.5), step("c"))
        assert judgement.verdict == "consistent"
        assert judgement.findings[0].steps == ("a", "c")

    def test_the_filesystems_own_commits_are_no_neighbours(self) -> None:
        # one every 5 s, of two flushes
        assert verdict(None, step(ops=20, rate=20, flushes=1.1)).verdict == "consistent"
        assert verdict(None, step(ops=20, rate=20, flushes=1.15)).verdict == "cannot-tell"


class TestFlushesMissing:
    @pytest.mark.parametrize(("flushes", "expected"), [(0, "not-durable"), (0.89, "not-durable"), (0.9, "consistent")])
    def test_below_nine_tenths(self, flushes: float, expected: str) -> None:
        judgement = verdict(None, step(flushes=flushes))
        assert judgement.verdict == expected

    def test_says_how_many_and_where(self) -> None:
        found = finding(verdict(None, step(flushes=0)), "flushes-missing")
        assert (found.confidence, found.scope, found.steps) == ("high", "storage", ("fdatasync",))
        assert found.title == "0.00 flushes per sync at sda, 1 owed"
        assert "2 000 syncs" in found.sentence
        assert "1.0 s measured" in found.sentence

    @pytest.mark.parametrize(("journal", "named"), [("no", True), ("yes", False)])
    def test_ext4_without_a_journal_may_itself_send_none(self, journal: str, named: bool) -> None:
        found = finding(verdict(on_disk(filesystem(journal=journal)), step(flushes=0)), "flushes-missing")
        assert found.verdict == "not-durable"
        assert ("The filesystem itself" in found.sentence) is named
        assert ("tune2fs" in found.next[0]) is named

    def test_half_of_what_btrfs_owes_is_too_few(self) -> None:
        assert verdict(on_disk(filesystem("btrfs")), step(flushes=1, share=5)).verdict == "not-durable"

    def test_one_bad_step_is_enough_and_nothing_is_called_consistent_beside_it(self) -> None:
        judgement = verdict(None, step(), step("O_DSYNC", sync="none", open_flags=("dsync",), flushes=0))
        assert judgement.verdict == "not-durable"
        assert "flushes-arrive" not in rules(judgement)

    def test_an_unknown_cache_owes_nothing(self) -> None:
        assert "flushes-missing" not in rules(verdict(on_disk(filesystem(), disk(write_cache=None)), step(flushes=0)))

    def test_a_disturbed_probe_does_not_change_what_arrived(self) -> None:
        assert verdict(None, step(status="disturbed", flushes=0)).verdict == "not-durable"


class TestBytesMissing:
    def test_below_nine_tenths(self) -> None:
        judgement = verdict(None, step(share=0.89))
        found = finding(judgement, "bytes-missing")
        assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
        assert "27.8 MiB of 31.2 MiB" in found.title
        assert verdict(None, step(share=0.91)).verdict == "consistent"

    def test_compression_excuses_them(self) -> None:
        assert "bytes-missing" not in rules(
            verdict(on_disk(filesystem("btrfs", compress="zstd")), step(flushes=2, share=0.1))
        )
        assert "bytes-missing" in rules(verdict(on_disk(filesystem("btrfs")), step(flushes=2, share=0.1)))

    @pytest.mark.parametrize("kind", ["zfs", "f2fs", "bcachefs"])
    def test_a_filesystem_that_may_compress_excuses_them(self, kind: str) -> None:
        assert "bytes-missing" not in rules(verdict(on_disk(filesystem(kind)), step(share=0)))

    def test_vdo_excuses_them(self) -> None:
        stack = target(filesystem(below=("dm-0",)), block("dm-0", "dm-vdo", "sda", write_cache="write back"), disk())
        assert "bytes-missing" not in rules(verdict(stack, step(share=0.1)))

    def test_writes_between_syncs_may_meet_in_the_cache(self) -> None:
        sparse = step(sync_every=100, flushes=0.01, share=0.2, offsets="same")
        assert "bytes-missing" not in rules(verdict(None, sparse))

    def test_small_writes_are_rounded_up_to_pages(self) -> None:
        settings = {**step().settings, "block_bytes": 512}
        pages = counted("sda", 2000, 2000 * 4096)
        small = step(changes={"bytes": 2000 * 512, "settings": settings, "counters": (pages,)})
        assert verdict(None, small).verdict == "consistent"

    def test_on_btrfs_enough_bytes_are_not_called_proof(self) -> None:
        assert "arrived." not in verdict(on_disk(filesystem("btrfs")), step(flushes=2, share=5)).sentence

    def test_o_direct_alone_was_only_not_direct(self) -> None:
        direct = step(
            "O_DIRECT",
            sync="none",
            open_flags=("direct",),
            flushes={"loop0": 0, "sda": 0},
            share={"loop0": 1, "sda": 0},
        )
        judgement = verdict(on_loop(device=loop(dio="0")), step(flushes=HONEST), direct)
        found = finding(judgement, "bytes-missing")
        assert (found.verdict, found.scope, found.steps) == (None, "step", ("O_DIRECT",))
        assert judgement.verdict == "consistent"

    def test_ext4_data_journal_buffers_o_direct(self) -> None:
        direct = step("O_DIRECT", sync="none", open_flags=("direct",), flushes=0, share=0)
        judgement = verdict(on_disk(filesystem(data="journal")), step(flushes=3, share=2), direct)
        assert finding(judgement, "bytes-missing").verdict is None


class TestSumsOverTheLowestDevices:
    BOTH = (disk(), disk("sdb"))

    def array(self, kind: str, level: str | None = None) -> Target:
        how = readings(level=level) if level else ()
        return target(filesystem(below=("top",)), block("top", kind, "sda", "sdb", readings=how), *self.BOTH)

    @pytest.mark.parametrize(
        ("kind", "level"), [("dm-multipath", None), ("dm-stripe", None), ("md", "raid0"), ("nvme-multipath", None)]
    )
    def test_paths_and_stripes_share_flushes_and_bytes(self, kind: str, level: str | None) -> None:
        half = step(flushes={"sda": 0.5, "sdb": 0.5}, share={"sda": 0.5, "sdb": 0.5})
        judgement = verdict(self.array(kind, level), half)
        assert judgement.verdict == "consistent"
        assert "sda and sdb" in judgement.sentence

    def test_a_stripe_may_pass_each_flush_to_every_member(self) -> None:
        each = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 0.5, "sdb": 0.5})
        assert verdict(self.array("md", "raid0"), each).verdict == "consistent"
        assert verdict(self.array("dm-multipath"), each).verdict == "cannot-tell"  # a path takes its share only

    def test_too_few_over_all_of_them_is_too_few(self) -> None:
        little = step(flushes={"sda": 0.4, "sdb": 0.4}, share={"sda": 0.5, "sdb": 0.5})
        assert verdict(self.array("md", "raid0"), little).verdict == "not-durable"

    def test_each_leg_of_a_mirror_stands_by_itself(self) -> None:
        both = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 1, "sdb": 1})
        assert verdict(self.array("md", "raid1"), both).verdict == "consistent"
        one = step(flushes={"sda": 2, "sdb": 0}, share={"sda": 1, "sdb": 1})
        assert verdict(self.array("md", "raid1"), one).verdict == "not-durable"
        short = step(flushes={"sda": 1, "sdb": 1}, share={"sda": 1, "sdb": 0.5})
        assert "bytes-missing" in rules(verdict(self.array("md", "raid1"), short))

    def test_a_neighbour_of_a_mirror_shows_on_its_legs(self) -> None:
        both = step(flushes={"sda": 1.5, "sdb": 1.5}, share={"sda": 1, "sdb": 1})
        assert verdict(self.array("md", "raid1"), both).verdict == "cannot-tell"

    def test_a_failed_leg_takes_no_part(self) -> None:
        one = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 1, "sdb": 0})
        assert verdict(self.array("md", "raid1"), one).verdict == "consistent"

    def test_a_raid10_leg_holds_its_stripes_only(self) -> None:
        disks = tuple(disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
        names = tuple(node.id for node in disks)
        array = block("md0", "md", *names, readings=readings(level="raid10"))
        measured = step(flushes=dict.fromkeys(names, 1.0), share=dict.fromkeys(names, 0.5))
        assert (
            verdict(target(filesystem(below=("md0",)), array, *disks), measured, idle=quiet(*names)).verdict
            == "consistent"
        )

    @pytest.mark.parametrize(("each", "word"), [(0.5, "consistent"), (0.4, "not-durable")])
    def test_a_fua_write_to_a_raid10_is_flushed_at_the_two_legs_that_hold_it(self, each: float, word: str) -> None:
        disks = tuple(disk(name) for name in ("sda", "sdb", "sdc", "sdd"))
        names = tuple(node.id for node in disks)
        array = block("md0", "md", *names, fua=True, readings=readings(level="raid10"))
        measured = step(
            open_flags=("direct", "dsync"), sync="none",
            flushes=dict.fromkeys(names, each), share=dict.fromkeys(names, 0.5),
        )  # fmt: skip
        assert verdict(target(filesystem(below=("md0",)), array, *disks), measured, idle=quiet(*names)).verdict == word

    def test_the_origin_of_a_dm_writecache_gets_none(self) -> None:
        cached = step(flushes={"sda": 1, "sdb": 0}, share={"sda": 1, "sdb": 0})
        assert verdict(self.array("dm-writecache"), cached).verdict == "consistent"

    def test_twenty_stripes_are_twenty_parts(self) -> None:
        names = [f"sd{letter}" for letter in "abcdefghijklmnopqrst"]
        stripe = block("md0", "md", *names, readings=readings(level="raid0"))
        stack = target(filesystem(below=("md0",)), stripe, *map(disk, names))
        even = dict.fromkeys(names, 0.05)
        assert verdict(stack, step(flushes=even, share=even), idle=quiet(*names)).verdict == "consistent"
        few = dict.fromkeys(names, 0.04)
        assert verdict(stack, step(flushes=few, share=even), idle=quiet(*names)).verdict == "not-durable"

    def test_btrfs_members_share(self) -> None:
        stack = on_disk(filesystem("btrfs", below=("sda", "sdb")), *self.BOTH)
        assert verdict(stack, step(flushes={"sda": 2, "sdb": 2}, share={"sda": 3, "sdb": 3})).verdict == "consistent"
        assert verdict(stack, step(flushes={"sda": 1, "sdb": 1}, share={"sda": 3, "sdb": 3})).verdict == "consistent"

    def test_an_uncounted_member_leaves_it_open(self) -> None:
        stack = target(filesystem(below=("md0",)), block("md0", "md", "sda", "sdb"), disk(), disk("sdb", counted=False))
        assert (
            verdict(stack, step(flushes={"sda": 0.4, "sdb": None}, share={"sda": 0.5, "sdb": None})).verdict
            == "cannot-tell"
        )


class TestOnTheWayDown:
    def test_a_loop_and_the_disk_below_its_file(self) -> None:
        judgement = verdict(on_loop(), step(flushes=HONEST))
        assert (judgement.verdict, judgement.confidence) == ("consistent", "medium")
        assert "sda" in judgement.sentence
        assert len(finding(judgement, "flushes-arrive").because) == 2

    def test_an_fsync_of_the_backing_file_is_one_flush_or_two(self) -> None:
        assert verdict(on_loop(), step(flushes={"loop0": 1, "sda": 2})).confidence == "medium"
        on_btrfs = on_loop(filesystem("btrfs", "/"))
        assert (
            verdict(on_btrfs, step(flushes={"loop0": 1, "sda": 4}, share={"loop0": 1, "sda": 6})).confidence == "medium"
        )

    def test_a_backing_filesystem_that_journals_data_may_owe_three(self) -> None:
        stack = on_loop(filesystem(name="/", data="journal"))
        judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 3}, share={"loop0": 1, "sda": 2}))
        assert judgement.confidence == "medium"

    def test_a_backing_filesystem_without_barriers_owes_none(self) -> None:
        protected = disk(medium=Medium(class_="ssd-plp", write_cache="plp"))
        stack = on_loop(filesystem(name="/", barrier="nobarrier"), below=protected)
        judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
        assert finding(judgement, "barriers-off").verdict == "plausible"
        assert "flushes-missing" not in rules(judgement)

    def test_a_mirror_of_loops_flushes_both_files(self) -> None:
        stack = self.two_loops("raid1", filesystem(name="/", below=("sda",)), disk())
        both = step(flushes={"loop0": 1, "loop1": 1, "sda": 3.5}, share={"loop0": 1, "loop1": 1, "sda": 2})
        assert verdict(stack, both).confidence == "medium"

    def test_of_two_files_on_two_filesystems_neither_owes_all(self) -> None:
        stack = self.two_loops("raid0", filesystem(name="/", below=("sda",)), disk())
        elsewhere = filesystem(name="/b", below=("sdb",))
        nodes = [
            msgspec.structs.replace(node, below=("mount:/b",)) if node.id == "file:/y.img" else node
            for node in stack.stack
        ]
        apart = target(*nodes, elsewhere, disk("sdb"))
        half = {"loop0": 0.5, "loop1": 0.5, "sda": 0.5, "sdb": 0.5}
        assert not rules(verdict(apart, step(flushes=half, share=half))) & {"flushes-missing", "bytes-missing"}

    @staticmethod
    def two_loops(level: str, *below: Node) -> Target:
        array = block("md0", "md", "loop0", "loop1", readings=readings(level=level))
        images = [
            Node(id=f"file:/{x}.img", layer="file", kind="backing-file", name=f"/{x}.img", below=("mount:/",))
            for x in "xy"
        ]
        loops = [disk(f"loop{i}", kind="loop", lowest=False, below=(image.id,)) for i, image in enumerate(images)]
        return target(filesystem(below=("md0",)), array, *loops, *images, *below)

    def test_noise_at_the_disk_leaves_the_loop_proven(self) -> None:
        judgement = verdict(on_loop(), step(flushes={"loop0": 1, "sda": 2.7}))
        assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
        assert "reached loop0 as 1.00" in judgement.sentence
        assert "At sda, further down, others write too, so nothing is proven there." in judgement.sentence

    def test_noise_while_idle_at_the_disk_leaves_the_loop_proven(self) -> None:
        idle = Idle(elapsed_s=2.0, counters=(counted("loop0", 0, 0), counted("sda", 800, 800)))
        judgement = verdict(on_loop(), step(flushes=HONEST), idle=idle)
        assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
        assert "other-writers" in rules(judgement)

    def test_a_flush_lost_below_the_loop_is_found(self) -> None:
        found = finding(verdict(on_loop(), step(flushes={"loop0": 1, "sda": 0.2})), "flushes-missing")
        assert "sda" in found.title
        assert "1 to 2 owed" in found.title

    def test_a_flush_lost_above_the_loop_is_blamed_there(self) -> None:
        found = finding(verdict(on_loop(), step(flushes={"loop0": 0, "sda": 0})), "flushes-missing")
        assert "at loop0" in found.title

    def test_bytes_that_stay_in_the_page_cache_below_the_loop_are_found(self) -> None:
        found = finding(verdict(on_loop(), step(flushes=HONEST, share={"loop0": 1, "sda": 0.3})), "bytes-missing")
        assert "sda" in found.title

    def test_a_compressing_filesystem_below_excuses_the_bytes(self) -> None:
        stack = on_loop(filesystem("btrfs", "/", compress="zstd"))
        assert "bytes-missing" not in rules(verdict(stack, step(flushes=HONEST, share={"loop0": 1, "sda": 0.3})))

    def test_below_an_unknown_filesystem_nothing_is_proven(self) -> None:
        judgement = verdict(on_loop(filesystem("f2fs", "/")), step(flushes={"loop0": 1, "sda": 0}))
        assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
        assert "not known what is owed" in judgement.sentence

    def test_a_disk_without_a_cache_below_is_owed_none(self) -> None:
        stack = on_loop(below=disk(write_cache="write through"))
        judgement = verdict(stack, step(flushes={"loop0": 1, "sda": 0}))
        assert (judgement.verdict, judgement.confidence) == ("consistent", "low")
        assert "owed none" in judgement.sentence

    def test_a_loop_on_a_block_device_is_a_layer_like_any_other(self) -> None:
        top, device = filesystem(below=("loop0",)), disk("loop0", kind="loop", lowest=False, below=("sda",))
        assert verdict(target(top, device, disk()), step(flushes={"loop0": 1, "sda": 1})).verdict == "consistent"
