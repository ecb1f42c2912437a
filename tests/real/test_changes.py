from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real import disks, headless
from tests.real.disks import Storage


def stop_counting(storage: Storage) -> None:
    disks.iostats_file(str(storage.device)).write_text("0")


def remount_without_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=0", storage.directory)


def remount_with_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=1", storage.directory)


def tell_the_kernel_that_it_writes_through(storage: Storage) -> None:
    disks.cache_file(str(storage.device)).write_text("write through")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (stop_counting, "counted yes → no"),
        (remount_without_barriers, "barrier barrier → nobarrier"),
        (remount_with_barriers, "barrier nobarrier → barrier"),
        (tell_the_kernel_that_it_writes_through, "write back → write through"),
    ],
)
def test_change_during_a_run_disturbs_its_steps(
    workshop: Path, tmp_path: Path, change: Callable[[Storage], None], line: str
) -> None:
    scenario = headless.scenario_file(tmp_path, "one", "two")
    options = "barrier=0" if change is remount_with_barriers else ""
    with (
        disks.on_loop(workshop, options=options) as storage,
        headless.started_run(scenario, storage.directory, "--set", "seconds=1") as run,
    ):
        change(storage)
        _, document, _ = headless.finish(run)
    assert [step.status for step in document.steps] == ["disturbed", "disturbed"]
    assert any(line in changed for changed in document.steps[0].changed), document.steps[0].changed
    assert (document.verdict, headless.rules_against(document)) == ("cannot-tell", set()), document.sentence
    assert "storage changed" in document.sentence
