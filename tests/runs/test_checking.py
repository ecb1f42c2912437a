from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.model.events import RunFinished, RunStarted, StepFinished
from fstui.model.run import Run
from fstui.model.storage import Target
from fstui.report import fit
from fstui.runs import checking, simulation
from fstui.runs.checking import Checkup, SkippedFilesystem, events_until_timeout, names_by_reason
from fstui.runs.session import Session
from fstui.runs.site import usual_directories
from tests.factories.evidence import verdict
from tests.factories.storage import filesystem, target


def mounted(point: Path | str, fstype: str = "ext4", source: str = "/dev/sda1", **more: object) -> Target:
    return replace(Target(path=str(point), mount_point=str(point), fstype=fstype, source=source), **more)


async def left_out(tmp_path: Path, *others: Target) -> dict[str, str]:
    """Add filesystems to that of the test's directory, which is the first one."""
    checkup = Checkup(Session.local(trace=False))
    await checkup.choose([mounted(tmp_path), *others], {})
    assert [subject.name for subject in checkup.subjects] == [str(tmp_path)]
    return {one.name: one.reason for one in checkup.skipped}


async def test_unsuitable_filesystems_are_left_out_with_the_reason(tmp_path: Path) -> None:
    found = await left_out(
        tmp_path,
        mounted("/proc", "proc", "proc", pseudo=True),
        mounted("/cd", "iso9660", "/dev/sr0", mount_options=("ro",)),
        mounted("/dev/shm", "tmpfs", "tmpfs"),
        mounted("/filer", "nfs4", "filer:/vol", silent_s=41.0),
        mounted("/var/lib/docker/overlay2/1/merged", "overlay", "overlay"),
    )
    assert found == {
        "/proc": "stores no data",
        "/cd": "read-only",
        "/dev/shm": "in memory (tmpfs): name it to have it checked",
        "/filer": "hangs: statvfs has not returned for 41.0 s",
        "/var/lib/docker/overlay2/1/merged": "stored in a directory of another filesystem, as in a container: name it "
        "to have it checked",
    }


async def test_what_the_configuration_decides_is_said_without_a_write(tmp_path: Path) -> None:
    merged = "/var/lib/docker/overlay2/1/merged"
    overlay = filesystem("overlay", merged, below=(), volatile="volatile")
    flags = {merged: verdict(target(overlay)), "/dev/shm": verdict(target(filesystem("tmpfs", "/dev/shm", below=())))}
    checkup = Checkup(Session.local(trace=False))
    await checkup.choose(
        [mounted(merged, "overlay"), mounted("/dev/shm", "tmpfs"), mounted("/proc", pseudo=True)], flags
    )
    volatile, memory, other = (one.reason for one in checkup.skipped)
    named = "name it to have it checked"
    assert volatile == f"not-durable, high confidence: overlay mounted volatile: syncs omitted; {named}"
    assert memory == f"not-durable, high confidence: in memory (tmpfs); {named}"
    assert other == "stores no data"


async def test_a_filesystem_that_is_mounted_twice_is_checked_once(tmp_path: Path) -> None:
    assert await left_out(tmp_path, mounted("/bind")) == {"/bind": f"the same filesystem as {tmp_path}"}


async def test_a_missing_filesystem_does_not_stop_the_others(tmp_path: Path) -> None:
    found = await left_out(tmp_path, mounted(tmp_path / "gone", source="/dev/sdb1"))
    assert "No such file" in found[str(tmp_path / "gone")]


async def test_only_hung_filesystems_are_failures(tmp_path: Path) -> None:
    checkup = Checkup(Session.local(trace=False))
    await checkup.choose([mounted("/proc", "proc", "proc", pseudo=True), mounted("/filer", silent_s=2.0)], {})
    assert [one.is_failure for one in checkup.skipped] == [False, True]


def test_each_reason_is_listed_once() -> None:
    listed = [("/a", "read-only"), ("/b", "silent"), ("/c", "read-only")]
    assert names_by_reason([SkippedFilesystem(*each) for each in listed]) == {
        "read-only": ["/a", "/c"],
        "silent": ["/b"],
    }


MOUNTS = ["/", "/home", "/tmp", "/srv/queue"]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/me/work")
    monkeypatch.setenv("HOME", "/home/me")


@pytest.mark.parametrize(
    ("mount_point", "expected"),
    [
        ("/", ["/var/tmp"]),
        ("/home", ["/home/me/work", "/home/me"]),
        ("/tmp", ["/tmp"]),
        ("/srv/queue", []),
    ],
)
def test_only_directories_on_that_mount_are_returned(mount_point: str, expected: list[str]) -> None:
    assert usual_directories(mount_point, MOUNTS) == expected


async def test_run_that_reaches_its_time_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "TIMEOUT_S", 0.0)
    checkup = Checkup(simulation.session(simulation.find("hdd-7200")))
    await checkup.find_filesystems()
    events = [event async for event in events_until_timeout(await checkup.begin(checkup.subjects[0]))]
    assert isinstance(finished := events[-1], RunFinished)
    assert (finished.run.status, finished.run.time_limit_s) == ("stopped", 0.0)


async def test_time_limit_after_a_stop_is_not_noted() -> None:
    assert (await run_over_its_limit(RunStarted, stopped=True)).time_limit_s is None


async def test_time_limit_after_all_steps_is_not_noted() -> None:
    run = await run_over_its_limit(StepFinished)
    assert (run.time_limit_s, len(run.steps)) == (None, 2)


async def run_over_its_limit(event_type: type, *, stopped: bool = False) -> Run:
    """Return a run whose time limit expires at the last event of that type."""
    checkup = Checkup(simulation.session(simulation.find("hdd-7200"), pace=0.0))
    await checkup.find_filesystems()
    running, steps = await checkup.begin(checkup.subjects[0]), 0
    async for event in running.events():
        steps += isinstance(event, StepFinished)
        if isinstance(event, event_type) and (stopped or steps == 2):
            if stopped:
                running.stop()
            running.stop_at_limit(20.0)
    assert isinstance(event, RunFinished)
    return event.run


async def fit_run(disk: str, *product_names: str) -> Run:
    session, settings = simulation.session(simulation.find(disk), pace=0.0), fit.settings(product_names)
    checkup = Checkup(session, scenario=checking.FIT, settings=settings)
    await checkup.find_filesystems()
    events = [event async for event in (await checkup.begin(checkup.subjects[0])).events()]
    finished = events[-1]
    assert isinstance(finished, RunFinished)
    return finished.run


@pytest.mark.parametrize("disk", ["hdd-7200-no-cache", "ssd-plp"])
async def test_fit_for_a_product_measures_less_for_the_same_answers(disk: str) -> None:
    complete, short = await fit_run(disk), await fit_run(disk, "etcd")
    assert len(complete.steps) == 5
    assert [step.name for step in short.steps] == [
        "log, 2300 B, fdatasync", "overwrite 8 KiB, fdatasync", "O_DIRECT+fdatasync 4 KiB",
    ]  # fmt: skip
    assert (short.verdict, short.confidence) == (complete.verdict, complete.confidence)
    (expected,) = (each.answer for each in complete.fit if each.product == "etcd")
    assert ("etcd", expected) in {(each.product, each.answer) for each in short.fit}
