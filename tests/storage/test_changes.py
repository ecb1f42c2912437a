"""Storage that becomes another while it is measured: the step says so, and only what drops flushes since then is
accused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.storage import disks, headless
from tests.storage.disks import Storage


def stop_counting(storage: Storage) -> None:
    Path(f"/sys/block/{storage.device}/queue/iostats").write_text("0")


def remount_without_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=0", storage.directory)


def remount_with_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=1", storage.directory)


def tell_the_kernel_that_it_writes_through(storage: Storage) -> None:
    Path(f"/sys/block/{storage.device}/queue/write_cache").write_text("write through")


@pytest.mark.parametrize(
    ("change", "line", "rule"),
    [
        (stop_counting, "counted yes → no", None),
        (remount_without_barriers, "barrier barrier → nobarrier", "barriers-off"),
        (remount_with_barriers, "barrier nobarrier → barrier", None),
        (tell_the_kernel_that_it_writes_through, "write back → write through", "write-through-override"),
    ],
)
def test_a_change_under_way_disturbs_its_step(
    workshop: Path, tmp_path: Path, change: Callable[[Storage], None], line: str, rule: str | None
) -> None:
    scenario = headless.scenario_file(tmp_path, "one", "two")
    with disks.on_loop(workshop, options="barrier=0" if change is remount_with_barriers else "") as storage:
        with headless.begun(scenario, storage.directory, "--set", "seconds=1") as run:
            change(storage)
            _, document, _ = headless.ended(run)
        Path(f"/sys/block/{storage.device}/queue/write_cache").write_text("write back")
        Path(f"/sys/block/{storage.device}/queue/iostats").write_text("1")
    assert [step.status for step in document.steps] == ["disturbed", "disturbed"]
    assert any(line in changed for changed in document.steps[0].changed), document.steps[0].changed
    assert headless.accused_of(document) == ({rule} if rule else set()), document.sentence
    if rule is None:
        assert "became another while it was measured" in document.sentence
