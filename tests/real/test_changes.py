"""Storage that becomes another while it is measured, for good or for a moment: the step says so, and only what drops
flushes meanwhile is accused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fstui.model.run import Run
from tests.real import disks, headless
from tests.real.disks import Storage


def stop_counting(storage: Storage) -> None:
    disks.counting(str(storage.device)).write_text("0")


def remount_without_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=0", storage.directory)


def remount_with_barriers(storage: Storage) -> None:
    disks.sh("mount", "-o", "remount,barrier=1", storage.directory)


def tell_the_kernel_that_it_writes_through(storage: Storage) -> None:
    disks.write_cache(str(storage.device)).write_text("write through")


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
    options = "barrier=0" if change is remount_with_barriers else ""
    with (
        disks.on_loop(workshop, options=options) as storage,
        headless.begun(scenario, storage.directory, "--set", "seconds=1") as run,
    ):
        change(storage)
        _, document, _ = headless.ended(run)
    assert [step.status for step in document.steps] == ["disturbed", "disturbed"]
    assert any(line in changed for changed in document.steps[0].changed), document.steps[0].changed
    assert headless.accused_of(document) == ({rule} if rule else set()), document.sentence
    if rule is None:
        assert "became another while it was measured" in document.sentence


def written(path: Path, *values: str) -> Callable[[], None]:
    """Whoever calls it writes the next of these."""
    waiting = iter(values)

    def write() -> None:
        path.write_text(next(waiting))

    return write


def measured_while(
    storage: Storage, scenario: Path, change: Callable[[], None], times: int, within: tuple[str, ...] = ()
) -> Run:
    """A run in whose first step something is changed so many times, a quarter of a second after one another."""
    with headless.begun(scenario, storage.directory, "--set", "seconds=3", within=within) as run:
        change()
        for _ in range(times - 1):
            headless.a_moment(run)
            change()
        _, document, _ = headless.ended(run)
    return document


@pytest.mark.parametrize("below", [False, True])
def test_counting_that_stood_still_for_a_moment_accuses_nobody(workshop: Path, tmp_path: Path, below: bool) -> None:
    scenario = headless.scenario_file(tmp_path)
    with disks.on_loop(workshop) as outer, disks.on_loop(made(outer.directory / "inner")) as inner:
        counting = disks.counting(str((outer if below else inner).device))
        document = measured_while(inner, scenario, written(counting, "0", "1"), times=2)
    assert document.steps[0].status == "disturbed"
    assert f"{counting.parts[3]}: iostats was written to" in document.steps[0].changed
    assert headless.accused_of(document) == set(), document.sentence


def test_counting_is_seen_to_stand_still_from_another_network_namespace_too(workshop: Path, tmp_path: Path) -> None:
    """It has a sysfs of its own, in which nobody else's writes are heard."""
    scenario = headless.scenario_file(tmp_path)
    own_sysfs = ("unshare", "--net", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys && exec "$@"', "sh")
    with disks.on_loop(workshop) as storage:
        counting = disks.counting(str(storage.device))
        document = measured_while(storage, scenario, written(counting, "0", "1"), times=2, within=own_sysfs)
    assert f"{storage.device}: counted yes → no → yes" in document.steps[0].changed
    assert headless.accused_of(document) == set(), document.sentence


def test_a_cache_that_is_told_write_through_again_and_again_is_accused(workshop: Path, tmp_path: Path) -> None:
    """However it stands when it is read before and after: whoever sets it right leaves it so."""
    scenario = headless.scenario_file(tmp_path)
    with disks.write_through(workshop) as storage:
        cache = disks.write_cache(str(storage.device))
        document = measured_while(
            storage, scenario, written(cache, "write back", "write through", "write back"), times=3
        )
    assert "write-through-override" in headless.accused_of(document), document.steps[0].changed
    assert "for a time" in document.sentence


def test_a_cache_that_is_set_right_is_not_accused(workshop: Path, tmp_path: Path) -> None:
    scenario = headless.scenario_file(tmp_path)
    with disks.write_through(workshop) as storage:
        cache = disks.write_cache(str(storage.device))
        document = measured_while(storage, scenario, written(cache, "write back", "write back"), times=2)
    assert document.steps[0].status == "disturbed"
    assert headless.accused_of(document) == set(), document.sentence


def test_barriers_that_were_off_for_a_moment_are_accused(workshop: Path, tmp_path: Path) -> None:
    scenario = headless.scenario_file(tmp_path)
    with disks.on_loop(workshop, options="barrier=0") as storage:
        options = iter(["barrier=1", "barrier=0", "barrier=1"])

        def remount() -> None:
            disks.sh("mount", "-o", f"remount,{next(options)}", storage.directory)

        document = measured_while(storage, scenario, remount, times=3)
    assert "barriers-off" in headless.accused_of(document), document.steps[0].changed
    assert "for a time" in document.sentence


def made(directory: Path) -> Path:
    directory.mkdir()
    return directory
