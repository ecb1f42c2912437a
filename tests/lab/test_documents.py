"""What machines of the laboratory were seen to do, judged by the rules of now: none of them has to run for it.

``documents/KERNEL`` holds run documents of the guests as they were saved, but for the timelines, which no verdict
needs.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.judgement import Verdict
from fstui.model.run import Run
from tests.lab import table, witness
from tests.lab.laboratory import judged_again
from tests.lab.machine import load

DOCUMENTS = sorted(Path(__file__).with_name("documents").glob("*/*.json.gz"))


def _id(path: Path) -> str:
    return f"{path.name.partition('.')[0]}-{path.parent.name}"


def read(path: Path) -> Run:
    return decode_run(gzip.decompress(path.read_bytes()))


TRACED = [path for path in DOCUMENTS if witness.is_traced(read(path))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=_id)
def test_nothing_said_of_a_machine_is_at_odds_with_its_truth(path: Path) -> None:
    measured = judged_again(gzip.decompress(path.read_bytes()), elapsed_s=0.0)
    assert table.measurement_faults(load(path.name.partition(".")[0]), measured) == [], measured.sentence


@pytest.mark.parametrize("path", TRACED, ids=_id)
def test_the_trace_makes_no_honest_machine_worse_and_excuses_no_liar(path: Path) -> None:
    run = read(path)
    seen, counted = judge(run).verdict, judge(witness.untraced(run)).verdict
    if load(path.name.partition(".")[0]).truth == "honest":
        assert standing(seen) >= standing(counted)
    elif counted in table.ACCUSATIONS:
        assert seen in table.ACCUSATIONS


def standing(verdict: Verdict) -> int:
    """2 praised, 1 undecided, 0 accused."""
    return 2 if verdict in table.PRAISE else 0 if verdict in table.ACCUSATIONS else 1


def document(name: str) -> bytes:
    return gzip.decompress(next(path for path in TRACED if _id(path) == f"{name}-6.12").read_bytes())


def test_a_read_cache_that_counts_nothing_hides_no_flush_of_its_pools_disk() -> None:
    """A RAM disk of the pool's holds copies alone, so it is not asked for bytes."""
    said = judged_again(document("zfs-l2arc-ram"), elapsed_s=0.0).sentence
    assert said.startswith("260 syncs reached sda as 1.00 to 1.04 flushes each (1 expected).")


def test_barriers_that_come_back_in_the_middle_of_a_synced_step_accuse_nobody() -> None:
    run = read(Path(__file__).with_name("documents") / "6.12/barriers-on-meanwhile.json.gz")
    step = run.steps[0]
    assert (step.status, step.syncs, step.counters[0].flushes) == ("disturbed", 805, 531)
    assert judge(run).verdict == "cannot-tell"


def test_each_layer_of_luks_on_lvm_on_md_was_asked_once_for_each_sync() -> None:
    """md's bitmap has flushes of its own beside them, which the counters of its disks cannot tell from ours."""
    name = "luks-lvm-md"
    assert witness.verdict_rows(name, "6.12", document(name)) == [
        (name, "6.12", "honest", "cannot-tell, low", "consistent, low", "")
    ]
    below = "55 by us + 2 by the kernel + 2 FUA"
    assert witness.layer_rows(name, "6.12", document(name))[-1][3:] == (
        "55", f"dm-1 55 by us › dm-0 55 by us › md0 55 by us › sda {below} › sdb {below}",
    )  # fmt: skip


def test_a_forced_write_to_luks_on_lvm_on_md_is_seen_at_each_layer() -> None:
    below = "2 by the kernel + 64 FUA"
    assert witness.layer_rows("luks-lvm-md", "6.12", document("luks-lvm-md"))[0][3:] == (
        "62", f"dm-1 62 FUA › dm-0 62 FUA › md0 62 FUA › sda {below} › sdb {below}",
    )  # fmt: skip


def test_a_forced_write_to_a_drive_with_fua_is_seen_and_needs_no_flush() -> None:
    assert witness.layer_rows("scsi-fua", "6.12", document("scsi-fua"))[0][2:] == (
        "O_DIRECT+O_DSYNC", "150", "sda 150 FUA",
    )  # fmt: skip


def test_beside_a_neighbour_on_the_same_disk_our_own_flushes_are_told_to_one() -> None:
    name = "scsi-fua-neighbour"
    assert witness.verdict_rows(name, "6.12", document(name)) == [
        (name, "6.12", "honest", "cannot-tell, low", "consistent, low", "")
    ]
    assert witness.layer_rows(name, "6.12", document(name))[-1][3:] == ("124", "sda 124 by us + 166 by others")


def test_multipath_below_lvm_is_asked_and_its_paths_are_handed_requests() -> None:
    assert witness.layer_rows("multipath-lvm", "6.12", document("multipath-lvm"))[-1][3:] == (
        "219", "dm-1 219 by us › dm-0 219 by us › sda 0 › sdb 0",
    )  # fmt: skip
