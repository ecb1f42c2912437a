"""Judge the saved run documents of the laboratory with today's rules, without running a machine.

``documents/KERNEL`` holds the documents as they were saved, without the timelines, which no verdict needs.
"""

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
def test_saved_run_agrees_with_the_truth(path: Path) -> None:
    measured = judged_again(gzip.decompress(path.read_bytes()), elapsed_s=0.0)
    assert table.measurement_faults(load(path.name.partition(".")[0]), measured) == [], measured.sentence


@pytest.mark.parametrize("path", TRACED, ids=_id)
def test_trace_does_not_make_a_verdict_worse(path: Path) -> None:
    run = read(path)
    seen, counted = judge(run).verdict, judge(witness.untraced(run)).verdict
    if load(path.name.partition(".")[0]).truth == "honest":
        assert rank(seen) >= rank(counted)
    elif counted in table.NEGATIVE:
        assert seen in table.NEGATIVE


def rank(verdict: Verdict) -> int:
    """Return 2 for a positive verdict, 1 for an undecided and 0 for a negative one."""
    return 2 if verdict in table.POSITIVE else 0 if verdict in table.NEGATIVE else 1


def document(name: str) -> bytes:
    return gzip.decompress(next(path for path in TRACED if _id(path) == f"{name}-6.12").read_bytes())


def test_read_cache_in_memory_does_not_hide_flushes() -> None:
    """A RAM disk that only holds copies need not receive any bytes."""
    said = judged_again(document("zfs-l2arc-ram"), elapsed_s=0.0).sentence
    assert said.startswith("260 syncs sent 1.00 to 1.04 flushes each (1 expected) to sda.")


def test_barriers_restored_during_a_step_give_cannot_tell() -> None:
    run = read(Path(__file__).with_name("documents") / "6.12/barriers-on-meanwhile.json.gz")
    step = run.steps[0]
    assert (step.status, step.syncs, step.counters[0].flushes) == ("disturbed", 805, 531)
    assert judge(run).verdict == "cannot-tell"


def test_each_layer_of_luks_on_lvm_on_md_gets_one_flush() -> None:
    """md's bitmap adds flushes, which the counters of its disks cannot separate from fstui's."""
    name = "luks-lvm-md"
    assert witness.verdict_rows(name, "6.12", document(name)) == [
        (name, "6.12", "honest", "cannot-tell, low", "consistent, low", "")
    ]
    below = "55 by fstui + 2 by the kernel + 2 FUA"
    assert witness.layer_rows(name, "6.12", document(name))[-1][3:] == (
        "55", f"dm-1 55 by fstui › dm-0 55 by fstui › md0 55 by fstui › sda {below} › sdb {below}",
    )  # fmt: skip


def test_forced_write_to_luks_on_lvm_on_md_is_traced() -> None:
    below = "2 by the kernel + 64 FUA"
    assert witness.layer_rows("luks-lvm-md", "6.12", document("luks-lvm-md"))[0][3:] == (
        "62", f"dm-1 62 FUA › dm-0 62 FUA › md0 62 FUA › sda {below} › sdb {below}",
    )  # fmt: skip


def test_forced_write_to_a_drive_with_fua_needs_no_flush() -> None:
    assert witness.layer_rows("scsi-fua", "6.12", document("scsi-fua"))[0][2:] == (
        "O_DIRECT+O_DSYNC", "150", "sda 150 FUA",
    )  # fmt: skip


def test_trace_separates_own_flushes_from_those_of_others() -> None:
    name = "scsi-fua-neighbour"
    assert witness.verdict_rows(name, "6.12", document(name)) == [
        (name, "6.12", "honest", "cannot-tell, low", "consistent, low", "")
    ]
    assert witness.layer_rows(name, "6.12", document(name))[-1][3:] == ("124", "sda 124 by fstui + 166 by others")


def test_paths_of_a_multipath_device_get_no_flush_of_their_own() -> None:
    assert witness.layer_rows("multipath-lvm", "6.12", document("multipath-lvm"))[-1][3:] == (
        "219", "dm-1 219 by fstui › dm-0 219 by fstui › sda 0 › sdb 0",
    )  # fmt: skip
