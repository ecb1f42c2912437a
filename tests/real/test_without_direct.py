"""A filesystem without O_DIRECT and without a size: ramfs, which every kernel has."""

import shutil
from pathlib import Path

from fstui.measure.kinds.documents import decode_run
from fstui.report.figures import failure
from tests.real import disks, headless
from tests.real.hanging import hanging_mount

OURS = (("sync_writes", 'open_flags = ["direct"]\nsync = "none"\n'), ("dirty_flush", ""))
SYSBENCH = (("sysbench_fileio", "seconds = 1\ndirect = true\n"),) if shutil.which("sysbench") else ()


def scenario(workshop: Path, *steps: tuple[str, str]) -> Path:
    file = workshop / "direct.toml"
    texts = [f'[[steps]]\nname = "{name}"\nprobe = "{name}"\nfile_bytes = 1048576\n{more}' for name, more in steps]
    file.write_text(headless.HEAD + "".join(texts))
    return file


def test_step_with_o_direct_is_skipped_without_a_space_check(workshop: Path, own_user: Path) -> None:
    with disks.mounted("ramfs", workshop / "mnt", "ramfs") as point:
        run = headless.measure(scenario(workshop, *OURS, *SYSBENCH), disks.Storage(point, None))
        assert list(point.iterdir()) == []
    assert {step.status for step in run.steps} == {"skipped"}
    assert all(step.error and step.error.call == "open" for step in run.steps)
    assert all(
        failure(step).startswith("the filesystem refuses O_DIRECT with these settings (open: ") for step in run.steps
    )
    assert "in-memory" in {found.rule for found in run.findings}
    assert run.target and run.target.space is None


def test_refused_o_direct_write_does_not_fail_the_run(workshop: Path, own_user: Path) -> None:
    """Like many FUSE filesystems. The first operation of dirty_flush writes nothing."""
    file = str(scenario(workshop, *OURS))
    with hanging_mount(workshop) as mount:
        mount.hang("direct")
        words = ("run", file, str(mount.point), "--set", "seconds=0.2", "--format", "json")
        done = headless.call(*words, within=mount.within)
    assert done.returncode == 0, done.stderr.decode()
    run = decode_run(done.stdout)
    assert {step.status for step in run.steps} == {"skipped"}
    assert {step.error.call for step in run.steps if step.error} == {"pwrite"}
