"""The probe sync_writes, driven directly."""

import errno
import os
import resource
import signal
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fstui.measure.probes.files import MAX_POOL_BLOCKS, Blocks, offsets
from fstui.measure.probes.writers import SEND_INTERVAL_NS
from tests.factories.directories import held
from tests.measure.probes.driving import RunningProbe
from tests.real import without_calls
from tests.real.disks import unmount

FLAGS = {"direct": os.O_DIRECT, "dsync": os.O_DSYNC, "sync": os.O_SYNC}


def flags_of(pid: int, path: Path) -> int:
    """Return the flags of a process's open file (proc_pid_fdinfo(5))."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        if link.readlink() == path:
            lines = Path(f"/proc/{pid}/fdinfo/{link.name}").read_text().splitlines()
            return int(next(line.split()[1] for line in lines if line.startswith("flags:")), 8)
    raise AssertionError(f"{pid} does not hold {path}")


def most(ops: int, block_bytes: int = 4096) -> dict[str, Any]:
    """Return settings that end a step after exactly this number of operations."""
    return {"seconds": 64.0, "max_bytes_per_s": ops * block_bytes // 64, "block_bytes": block_bytes}


@pytest.mark.parametrize(
    ("open_flags", "sync"),
    [((), "fsync"), ((), "fdatasync"), (("direct",), "fdatasync"), (("dsync",), "none"), (("sync",), "none"),
     (("direct", "dsync"), "none")],
)  # fmt: skip
def test_every_way_to_sync_times_its_parts(tmp_path: Path, open_flags: tuple[str, ...], sync: str) -> None:
    with RunningProbe(tmp_path, open_flags=open_flags, sync=sync, **most(20)) as probe:
        first = probe.until("ready", "error")
        if first.kind == "error" and first.fields["errno"] == errno.EINVAL and "direct" in open_flags:
            pytest.skip("no O_DIRECT here")
        (writer,) = probe.writers()
        opened = flags_of(writer, probe.path)
        assert {name for name, flag in FLAGS.items() if opened & flag == flag} >= set(open_flags)
        assert bool(opened & os.O_DIRECT) == ("direct" in open_flags)
        assert bool(opened & os.O_DSYNC) == bool({"dsync", "sync"} & set(open_flags))
        probe.say("go")
        done = probe.until("done").fields
    assert probe.ops == 20
    assert {samples.parts for samples in probe.samples} == {1 if sync == "none" else 2}
    marks = [reading for samples in probe.samples for reading in samples.readings_ns]
    assert all(first <= second for first, second in pairwise(marks))
    assert done["start_ns"] <= marks[0] and marks[-1] <= done["end_ns"]
    assert done["delayed_ns"] >= 0


def test_file_is_filled_with_incompressible_data(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, file_bytes=3_000_000) as probe:
        progress = probe.until("preparing").fields
        probe.until("ready")
        content = probe.path.read_bytes()
        assert (progress["total"], len(content)) == (3_000_000, 3_000_000)
        assert os.stat(probe.path).st_blocks * 512 >= 3_000_000
        assert len(zlib.compress(content)) > 0.99 * len(content)
        assert os.stat(probe.path).st_mode & 0o777 == 0o600


def test_written_blocks_are_always_new(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, offsets="same", sync="none", **most(1000)) as probe:
        probe.until("ready")
        before = probe.path.read_bytes()
        probe.say("go")
        probe.until("done")
        after = probe.path.read_bytes()
    assert after[:4096] != before[:4096]
    assert after[4096:] == before[4096:]
    assert len(zlib.compress(after[:4096])) >= 4096


@pytest.mark.parametrize(
    ("block_bytes", "direct"),
    [
        (512, False),
        (4096, False),
        (5120, False),
        (6144, False),
        (9216, False),
        (4096, True),
        (16384, True),
        (65536, False),
        (1 << 20, False),
    ],
)
def test_no_page_of_a_batch_is_written_twice(block_bytes: int, direct: bool) -> None:
    blocks = Blocks(block_bytes, direct)
    pages = [
        hash(bytes(block[at : at + 4096]))
        for _ in range(2)
        for block in blocks.restamp()
        for at in range(0, block_bytes, 4096)
    ]
    assert len(set(pages)) == len(pages)


def test_offsets_stay_block_aligned_within_the_file() -> None:
    settings = {"block_bytes": 4096, "file_bytes": 40_000}
    inside = list(range(0, 36_864, 4096))
    random = [place for place, _ in zip(offsets({**settings, "offsets": "random"}, 1), range(5000), strict=False)]
    assert set(random) == set(inside)
    turning = offsets({**settings, "offsets": "sequential"}, 1)
    assert [next(turning) for _ in range(18)] == [*inside, *inside]
    same = offsets({**settings, "offsets": "same"}, 1)
    assert [next(same) for _ in range(3)] == [0, 0, 0]


def test_two_writers_use_different_offsets() -> None:
    settings = {"block_bytes": 4096, "file_bytes": 1 << 20, "offsets": "random"}
    first, second = offsets(settings, 1), offsets(settings, 2)
    assert [next(first) for _ in range(100)] != [next(second) for _ in range(100)]


def test_append_grows_an_empty_file_block_by_block(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, offsets="append", prefill="none", **most(40)) as probe:
        probe.until("ready")
        assert probe.path.stat().st_size == 0
        probe.say("go")
        probe.until("done")
        assert probe.path.stat().st_size == 40 * 4096
    assert probe.ops == 40


@pytest.mark.parametrize(("prefill", "size"), [("fallocate", 1 << 20), ("none", 0)])
def test_file_can_be_allocated_without_writing(tmp_path: Path, prefill: str, size: int) -> None:
    with RunningProbe(tmp_path, prefill=prefill) as probe:
        probe.until("ready")
        assert probe.path.stat().st_size == size


def test_paced_operations_never_begin_early(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=0.1, ops_per_s=200.0) as probe:
        start_ns = probe.measure().fields["start_ns"]
    assert 1 <= probe.ops <= 21
    begins_ns = [begin_ns for samples in probe.samples for begin_ns in samples.begins_ns]
    assert all(begin_ns >= start_ns + number * 5_000_000 for number, begin_ns in enumerate(begins_ns))


def test_paced_operations_share_a_frame(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=0.5, ops_per_s=5000.0, sync="none") as probe:
        done = probe.measure().fields
    sends = (done["end_ns"] - done["start_ns"]) // SEND_INTERVAL_NS + 2
    assert len(probe.samples) <= sends + probe.ops // MAX_POOL_BLOCKS


def test_paced_operation_is_sent_before_the_next_one(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=0.0, ops_per_s=0.1) as probe:
        probe.until("ready")
        probe.say("go")
        assert len(probe.until_samples().ends_ns) == 1


@pytest.mark.parametrize(("how", "least", "most"), [({"writers": 4}, 4, 24), ({"sync_every": 2}, 1, 21)])
def test_rate_limit_is_for_all_operations(tmp_path: Path, how: dict[str, Any], least: int, most: int) -> None:
    with RunningProbe(tmp_path, seconds=0.2, ops_per_s=100.0, **how) as probe:
        probe.measure()
    assert least <= probe.ops <= most


def test_step_without_an_end_continues_until_stop(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=0.0, ops_per_s=1000.0) as probe:
        probe.until("ready")
        probe.say("go")
        probe.until_samples()
        probe.say("stop")
        probe.until("done")
    assert probe.errors == []


def test_operations_between_rare_syncs_have_an_empty_sync_part(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, sync="fsync", sync_every=10, **most(600)) as probe:
        probe.measure()
    lengths = [length for samples in probe.samples for length in samples.durations_ns(1)]
    assert len(lengths) == 600
    assert [number for number, length in enumerate(lengths, 1) if length] == list(range(10, 601, 10))


def test_several_writers_commit_in_parallel_processes(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, writers=4, **most(400)) as probe:
        probe.until("ready")
        pids = probe.writers()
        assert len(set(pids)) == 4 and probe.process.pid not in pids
        probe.say("go")
        probe.until("done")
    by_writer = {
        writer: sum(len(samples.ends_ns) for samples in probe.samples if samples.writer == writer)
        for writer in range(4)
    }
    assert by_writer == dict.fromkeys(range(4), 100)


def test_slow_step_continues_to_fifty_operations(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=0.000_001, max_bytes_per_s=1 << 60) as probe:
        probe.measure()
    assert probe.ops >= 50


def test_file_stays_until_stdin_closes(tmp_path: Path) -> None:
    with RunningProbe(tmp_path) as probe:
        probe.measure()
        assert probe.path.exists()
        assert probe.hang_up() == 0
    assert list(tmp_path.iterdir()) == []


def test_stop_while_preparing_removes_the_file(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, file_bytes=8 << 30) as probe:
        probe.until("preparing")
        probe.say("stop")
        probe.wait_for_all()
    assert list(tmp_path.iterdir()) == []
    assert probe.errors == []


def test_stop_before_go_measures_nothing(tmp_path: Path) -> None:
    with RunningProbe(tmp_path) as probe:
        probe.until("ready")
        probe.say("stop")
        probe.until("done")
    assert probe.ops == 0


def test_probe_ignores_ctrl_c(tmp_path: Path) -> None:
    with RunningProbe(tmp_path) as probe:
        probe.until("ready")
        os.kill(probe.process.pid, signal.SIGINT)
        probe.say("go")
        probe.until("done")


@pytest.mark.parametrize("moment", ["preparing", "ready", "samples"])
def test_closed_stdin_ends_all_and_removes_the_file(tmp_path: Path, moment: str) -> None:
    """As when its parent is killed."""
    file_bytes = 8 << 30 if moment == "preparing" else 1 << 20
    with RunningProbe(tmp_path, seconds=3600.0, max_bytes_per_s=1 << 40, writers=2, file_bytes=file_bytes) as probe:
        if moment == "samples":
            probe.until("ready")
            probe.say("go")
            probe.until_samples()
        else:
            probe.until(moment)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sync_every", [1, 3])
def test_operations_before_an_error_are_kept(tmp_path: Path, sync_every: int) -> None:
    with RunningProbe(tmp_path, before_settings=small_files, offsets="append", sync_every=sync_every) as probe:
        done = probe.measure().fields
    (error,) = probe.errors
    assert (error["call"], error["errno"], error["writer"]) == ("pwrite", errno.EFBIG, 0)
    assert "File too large" in error["message"]
    assert probe.ops == 16
    assert done["end_ns"] >= probe.samples[-1].ends_ns[-1] >= done["start_ns"]


def small_files(pid: int) -> None:
    """RLIMIT_FSIZE of 64 KiB looks like a full disk."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (65536, 65536))


def test_error_while_preparing_leaves_no_file(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, before_settings=small_files, file_bytes=1 << 20) as probe:
        assert probe.until("error").fields["errno"] == errno.EFBIG
        assert probe.hang_up() == 0
    assert list(tmp_path.iterdir()) == []


def test_write_of_nothing_without_an_error_ends_the_step(tmp_path: Path) -> None:
    if os.uname().machine not in without_calls.NUMBERS:
        pytest.skip("the numbers of its system calls are not known")
    with RunningProbe(tmp_path, under=(sys.executable, without_calls.__file__, "pwrite64")) as probe:
        said = probe.until("error", "ready").fields
    assert (said["call"], said["errno"]) == ("pwrite", None)
    assert said["message"] == "the kernel wrote only 0 of 1048576 bytes, and reported no error"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", [
    {"sync": "fdatasync"}, {"sync": "none"}, {"sync": "fdatasync", "sync_every": 2}, {"ops_per_s": 1000.0},
])  # fmt: skip
def test_short_write_is_no_operation(tmp_path: Path, how: dict[str, Any]) -> None:
    """Each write stores 512 of 4096 bytes, and the next one reports no error."""
    with RunningProbe(tmp_path, offsets="same", **most(20), **how) as probe:
        probe.until("ready")
        (writer,) = probe.writers()
        resource.prlimit(writer, resource.RLIMIT_FSIZE, (512, 512))
        probe.say("go")
        probe.until("done")
    (error,) = probe.errors
    assert (error["call"], error["errno"], probe.ops) == ("pwrite", errno.EFBIG, 0)


def test_existing_file_is_neither_written_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("precious")
    with RunningProbe(tmp_path) as probe:
        assert probe.until("error").fields["errno"] == errno.EEXIST
    assert (tmp_path / "data").read_text() == "precious"


def test_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious")
    (tmp_path / "data").symlink_to("elsewhere")
    with RunningProbe(tmp_path) as probe:
        assert probe.until("error").fields["errno"] == errno.EEXIST
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert (tmp_path / "data").is_symlink()


@pytest.mark.parametrize("other", [False, True], ids=["gone", "another in its place"])
def test_replaced_directory_is_not_written_to(tmp_path: Path, other: bool) -> None:
    run = tmp_path / "run"
    run.mkdir()
    meant = held(run)
    run.rename(tmp_path / "moved")
    if other:
        (tmp_path / "precious").mkdir()
        run.symlink_to("precious")
    with RunningProbe(run, meant) as probe:
        error = probe.until("error").fields
    assert (error["call"], error["errno"]) == ("chdir", errno.ESTALE if other else errno.ENOENT)
    assert ("taken its place" if other else "it was moved or removed") in error["message"]
    assert [list(path.iterdir()) for path in tmp_path.iterdir() if path.is_dir()] == [[]] * (1 + 2 * other)


@pytest.mark.root
def test_refusal_of_o_direct_is_reported(tmp_path: Path) -> None:
    subprocess.run(["mount", "-t", "ramfs", "ramfs", tmp_path], check=True)
    try:
        with RunningProbe(tmp_path, open_flags=("direct",)) as probe:
            error = probe.until("error").fields
            probe.wait_for_all()  # before stdin closes: the engine waits for their end
            assert list(tmp_path.iterdir()) == []
    finally:
        unmount(tmp_path)
    assert (error["call"], error["errno"]) == ("open", errno.EINVAL)


def test_facts_are_sent_first_and_leave_no_file(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, facts=True) as probe:
        facts = probe.until("facts").fields
        probe.until("ready")
        assert [path.name for path in tmp_path.iterdir()] == ["data"]
    assert facts["pipe_fsync_fails"] is True


def test_step_ends_early_and_reports_time_without_cpu(tmp_path: Path) -> None:
    with RunningProbe(tmp_path, seconds=60.0, enough_ops=30, offsets="same") as probe:
        probe.until("ready")
        probe.say("go")
        done = probe.until("done").fields
    assert probe.ops == 30
    assert done["cpu_wait_ns"] >= done["longest_cpu_wait_ns"] >= 0
    assert done["cpu_pressure_ns"] >= done["longest_cpu_pressure_ns"] >= 0
    assert done["stolen_ns"] >= 0
