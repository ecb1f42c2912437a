"""A filesystem that takes no O_DIRECT and states no size: ramfs, which is so in every kernel."""

from __future__ import annotations

import shutil
from pathlib import Path

from fstui.report.figures import failure
from tests.storage import disks, headless

SCENARIO = headless.HEAD + "".join(
    f'[[steps]]\nname = "{probe}"\nprobe = "{probe}"\nfile_bytes = 1048576\n{more}'
    for probe, more in (
        ("sync_writes", 'open_flags = ["direct"]\nsync = "none"\n'),
        ("dirty_flush", ""),
        *([("sysbench_fileio", "seconds = 1\ndirect = true\n")] if shutil.which("sysbench") else []),
    )
)


def test_a_step_that_wants_it_is_skipped_and_nothing_is_too_full(workshop: Path, own_user: Path) -> None:
    scenario = workshop / "direct.toml"
    scenario.write_text(SCENARIO)
    with disks.mounted("ramfs", workshop / "mnt", "ramfs") as point:
        run = headless.measure(scenario, disks.Storage(point, None))
        assert list(point.iterdir()) == []
    assert {step.status for step in run.steps} == {"skipped"}
    assert all(step.error and step.error.call == "open" for step in run.steps)
    assert all(failure(step).startswith("the filesystem refuses such O_DIRECT (open: ") for step in run.steps)
    assert "in-memory" in {found.rule for found in run.findings}
    assert run.target and run.target.space is None
