"""Rule 23 and the notes."""

from __future__ import annotations

import errno

import pytest

from fstui.model import Failure, Medium, Reading, Stalls, Step
from tests.unit.judge.evidence import (
    block,
    busy,
    disk,
    filesystem,
    finding,
    on_disk,
    rules,
    step,
    target,
    verdict,
)

DEGRADED = Reading(what="degraded", value="1", path="/sys/block/md0/md/degraded")


class TestStackState:
    STACK = target(filesystem(below=("md0",)), block("md0", "md", "sda", state=(DEGRADED,)), disk())

    def test_is_said_first_in_the_verdicts_sentence(self) -> None:
        judgement = verdict(self.STACK, step())
        assert judgement.sentence.startswith("The stack is in trouble (md0 degraded: 1)")
        assert "flushes each" in judgement.sentence

    def test_is_a_note_with_the_path_it_was_read_from(self) -> None:
        found = finding(verdict(self.STACK), "stack-state")
        assert found.verdict is None
        assert found.because == ("md0 degraded: 1 (/sys/block/md0/md/degraded)",)

    def test_comes_before_the_other_notes(self) -> None:
        judgement = verdict(self.STACK, step(), idle=busy("sda", 1))
        assert [found.rule for found in judgement.findings] == ["flushes-arrive", "stack-state", "other-writers"]

    def test_a_sound_stack_has_none(self) -> None:
        assert "stack-state" not in rules(verdict(None, step()))


class TestSyncError:
    @staticmethod
    def failed(call: str, number: int, **settings: object) -> Step:
        error = Failure(call=call, errno=number, message=errno.errorcode[number])
        return step(status="failed", changes={"error": error}, **settings)  # type: ignore[arg-type]

    @pytest.mark.parametrize("call", ["fsync", "fdatasync"])
    def test_an_io_error_on_a_sync_is_not_durable(self, call: str) -> None:
        judgement = verdict(None, self.failed(call, errno.EIO))
        found = finding(judgement, "sync-error")
        assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
        assert judgement.verdict == "not-durable"
        assert f"{call} failed with EIO" in judgement.sentence
        assert "data gone" in judgement.sentence

    def test_an_io_error_on_a_synced_write_is_one_too(self) -> None:
        synced = self.failed("pwrite", errno.EIO, sync="none", open_flags=("direct", "dsync"))
        assert verdict(None, synced).verdict == "not-durable"

    def test_an_io_error_on_a_plain_write_is_an_honest_answer(self) -> None:
        found = finding(verdict(None, self.failed("pwrite", errno.EIO, sync="none")), "sync-error")
        assert (found.verdict, found.scope) == (None, "step")

    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
    def test_a_full_disk_is_a_note(self, number: int) -> None:
        found = finding(verdict(None, self.failed("fdatasync", number)), "sync-error")
        assert found.verdict is None
        assert "no room left" in found.sentence

    def test_another_call_is_not_its_business(self) -> None:
        assert rules(verdict(None, self.failed("open", errno.EINVAL))) == set()


class TestNotes:
    def test_o_direct_alone_is_not_durable_by_itself_on_any_disk(self) -> None:
        direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
        found = finding(verdict(None, direct), "odirect-alone")
        assert (found.verdict, found.scope) == (None, "step")
        assert "20 000/s" in found.sentence

    def test_a_mount_with_sync_makes_every_write_durable(self) -> None:
        mounted = on_disk(filesystem(sync_option="sync"))
        direct = step("O_DIRECT", sync="none", open_flags=("direct",), flushes=1)
        twice = step("fdatasync", flushes=2)
        judged = verdict(mounted, direct, twice)
        assert rules(judged) == {"mounted-sync", "flushes-arrive"}
        assert (judged.verdict, finding(judged, "mounted-sync").scope) == ("consistent", "storage")
        assert any(
            "O_DIRECT: 2 000 flushes for 2 000 syncs" in line for line in finding(judged, "flushes-arrive").because
        )

    def test_a_mount_with_sync_owes_a_flush_for_a_plain_write(self) -> None:
        plainly = step("write", sync="none", flushes=0)
        assert verdict(on_disk(filesystem(sync_option="sync")), plainly).verdict == "not-durable"
        assert verdict(on_disk(filesystem()), plainly).verdict == "cannot-tell"

    def test_zfs_looks_at_the_programs_own_flags_and_not_at_the_mounts(self) -> None:
        assert "mounted-sync" not in rules(verdict(on_disk(filesystem("zfs", sync_option="sync")), step()))

    def test_a_mount_without_sync_owes_one_flush_only(self) -> None:
        twice = step("fdatasync", flushes=2)
        assert finding(verdict(on_disk(filesystem()), twice), "flushes-arrive").verdict == "cannot-tell"

    def test_other_writers_are_counted_and_named(self) -> None:
        found = finding(verdict(idle=busy("sda", 3, "mysqld\x1b[2J")), "other-writers")
        assert (found.verdict, found.confidence) == (None, "low")
        assert "3.00 flushes/s" in found.title
        assert any("mysqld\\x1b[2J (700)" in line for line in found.because)

    def test_a_device_that_is_not_ours_is_no_neighbour(self) -> None:
        assert rules(verdict(idle=busy("sdz", 300))) == set()

    def test_ephemeral(self) -> None:
        local = disk(medium=Medium(class_="ssd", ephemeral=True, because="the model says an instance store of AWS"))
        found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
        assert found.verdict is None
        assert "As far as was measured, syncs are honest here" in found.sentence
        assert "still gone" in found.sentence
        assert "ephemeral" not in rules(verdict(on_disk(filesystem(), disk(medium=Medium(ephemeral=False)))))

    @pytest.mark.parametrize("flushes", [None, 0])
    def test_syncs_that_were_not_measured_or_did_not_arrive_are_not_called_honest(self, flushes: int | None) -> None:
        local = on_disk(filesystem(), disk(medium=Medium(class_="ssd", ephemeral=True)))
        found = finding(verdict(local, *([] if flushes is None else [step(flushes=flushes)])), "ephemeral")
        assert "An honest sync would survive a power cut there" in found.sentence

    def test_stalls_say_the_time_lost(self) -> None:
        found = finding(verdict(None, step(changes={"stalls": Stalls(count=2, lost_s=3.5)})), "stalls")
        assert found.title == "2 stalls, 3.5 s lost"

    def test_disturbed(self) -> None:
        held = step(status="disturbed", changes={"held_ns": 50_000_000})
        found = finding(verdict(None, held, step("other")), "disturbed")
        assert found.steps == ("fdatasync",)
        assert "1 of 2 steps" in found.title
