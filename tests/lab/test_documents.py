"""Judge the saved run documents of the laboratory with today's rules, without running a machine.

``documents/KERNEL`` holds the documents as they were saved, without the timelines, which no verdict needs.
"""

import gzip
from pathlib import Path

import msgspec
import pytest

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.model.counters import DeviceTrace
from fstui.model.judgement import Verdict
from fstui.model.run import Run
from tests.lab import table
from tests.lab.laboratory import judge_again
from tests.lab.machine import load

DOCUMENTS = sorted(Path(__file__).with_name("documents").glob("*/*.json.gz"))


def _id(path: Path) -> str:
    return f"{path.name.partition('.')[0]}-{path.parent.name}"


def read(path: Path) -> Run:
    return decode_run(gzip.decompress(path.read_bytes()))


TRACED = [path for path in DOCUMENTS if any(step.trace for step in read(path).steps)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=_id)
def test_saved_run_agrees_with_the_truth(path: Path) -> None:
    measured = judge_again(gzip.decompress(path.read_bytes()), elapsed_s=0.0)
    assert table.measurement_faults(load(path.name.partition(".")[0]), measured) == [], measured.sentence


@pytest.mark.parametrize("path", TRACED, ids=_id)
def test_trace_does_not_make_a_verdict_worse(path: Path) -> None:
    run = read(path)
    seen, counted = judge(run).verdict, judge(untraced(run)).verdict
    if load(path.name.partition(".")[0]).truth == "honest":
        assert rank(seen) >= rank(counted)
    elif counted in table.NEGATIVE:
        assert seen in table.NEGATIVE


def untraced(run: Run) -> Run:
    steps = tuple(msgspec.structs.replace(step, trace=None) for step in run.steps)
    return msgspec.structs.replace(run, steps=steps)


def rank(verdict: Verdict) -> int:
    """Return 2 for a positive verdict, 1 for an undecided and 0 for a negative one."""
    return 2 if verdict in table.POSITIVE else 0 if verdict in table.NEGATIVE else 1


def document(name: str) -> bytes:
    return gzip.decompress(next(path for path in TRACED if _id(path) == f"{name}-6.12").read_bytes())


def test_read_cache_in_memory_does_not_hide_flushes() -> None:
    """A RAM disk that only holds copies need not receive any bytes."""
    said = judge_again(document("zfs-l2arc-ram"), elapsed_s=0.0).sentence
    assert said.startswith("260 syncs sent 1.00 to 1.04 flushes each (1 expected) to sda.")


def test_barriers_restored_during_a_step_give_cannot_tell() -> None:
    run = read(Path(__file__).with_name("documents") / "6.12/barriers-on-meanwhile.json.gz")
    step = run.steps[0]
    assert (step.status, step.syncs, step.counters[0].flushes) == ("disturbed", 805, 531)
    assert judge(run).verdict == "cannot-tell"


def verdicts(name: str) -> list[str]:
    """Return the verdict of the counters alone, and with the trace."""
    run = decode_run(document(name))
    return [f"{each.verdict}, {each.confidence}" for each in (judge(untraced(run)), judge(run))]


def layers(name: str, step: str) -> tuple[int, str]:
    """Return the syncs or writes of the step, and the requests at each layer, topmost first."""
    (found,) = (each for each in decode_run(document(name)).steps if each.name == step)
    return found.syncs or found.ops, " › ".join(f"{each.device} {_requested(each)}" for each in found.trace or ())


def _requested(trace: DeviceTrace) -> str:
    parts = (
        (trace.requested_by_us, "by fstui"), (trace.requested_by_kernel_threads, "by the kernel"),
        (trace.requested_by_others, "by others"), (trace.fua_writes, "FUA"),
    )  # fmt: skip
    return " + ".join(f"{number} {who}" for number, who in parts if number) or "0"


@pytest.mark.parametrize("name", ["luks-lvm-md", "scsi-fua-neighbour"])
def test_trace_decides_what_the_counters_cannot(name: str) -> None:
    """md's bitmap adds flushes, and so does another process: the counters cannot separate them from fstui's."""
    assert verdicts(name) == ["cannot-tell, low", "consistent, low"]


_OF_DISK = "55 by fstui + 2 by the kernel + 2 FUA"
_LUKS_FLUSHED = f"dm-1 55 by fstui › dm-0 55 by fstui › md0 55 by fstui › sda {_OF_DISK} › sdb {_OF_DISK}"
_FORCED = "2 by the kernel + 64 FUA"
_LUKS_FORCED = f"dm-1 62 FUA › dm-0 62 FUA › md0 62 FUA › sda {_FORCED} › sdb {_FORCED}"
_MULTIPATH = "dm-1 219 by fstui › dm-0 219 by fstui › sda 0 › sdb 0"
REQUESTS = {
    "each layer gets one flush": ("luks-lvm-md", "O_DIRECT+fdatasync", 55, _LUKS_FLUSHED),
    "each layer forces the write": ("luks-lvm-md", "O_DIRECT+O_DSYNC", 62, _LUKS_FORCED),
    "a drive with FUA needs no flush": ("scsi-fua", "O_DIRECT+O_DSYNC", 150, "sda 150 FUA"),
    "others flush too": ("scsi-fua-neighbour", "O_DIRECT+fdatasync", 124, "sda 124 by fstui + 166 by others"),
    "paths get no flush of their own": ("multipath-lvm", "O_DIRECT+fdatasync", 219, _MULTIPATH),
}


@pytest.mark.parametrize(("name", "step", "syncs", "requested"), REQUESTS.values(), ids=REQUESTS)
def test_requests_at_each_layer(name: str, step: str, syncs: int, requested: str) -> None:
    assert layers(name, step) == (syncs, requested)
