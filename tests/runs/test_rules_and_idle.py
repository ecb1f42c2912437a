import asyncio
from typing import Any

import msgspec
import pytest

from fstui.judge import judge
from fstui.model.counters import Idle
from fstui.model.host import Inventory
from fstui.model.judgement import Judgement
from fstui.model.run import Evidence
from fstui.model.storage import Space, Target
from fstui.runs.activity import IdleWatch
from fstui.runs.machine.local import LocalMachine
from fstui.runs.machine.replay import ReplayMachine
from fstui.runs.rules import JudgementCache
from tests.factories import storage
from tests.factories.evidence import HONEST_PROCESS
from tests.factories.runs import counted, saved, target


async def test_idle_periods_add_up() -> None:
    run = msgspec.structs.replace(saved(), idle=Idle(elapsed_s=2.0, counters=(counted(80, 40),)))
    machine = ReplayMachine(run, pace=0.0)
    watch = IdleWatch(machine, target().stack)
    for seconds in (1.0, 0.5):
        await watch.watch(seconds, asyncio.Event())
    assert watch.idle.elapsed_s == pytest.approx(1.5)
    (disk,) = (counters for counters in watch.idle.counters if counters.device == "sda")
    assert (disk.writes, disk.flushes) == (60, 30)


async def test_a_stop_ends_the_watch_at_once() -> None:
    stop = asyncio.Event()
    stop.set()
    watch = IdleWatch(LocalMachine(), target().stack)
    await watch.watch(3600, stop)
    assert watch.idle.elapsed_s < 3600


def test_flags_are_by_mount_point() -> None:
    off = msgspec.structs.replace(
        storage.target(storage.filesystem(name="/off", barrier="nobarrier"), storage.disk()), path="/off"
    )
    pseudo = msgspec.structs.replace(off, mount_point="/proc", pseudo=True)
    found = JudgementCache().judge(Inventory(filesystems=(target(), off, pseudo), process=HONEST_PROCESS))
    assert sorted(found) == ["/off", "/srv"]
    assert found["/off"].verdict == "not-durable"
    assert [finding.rule for finding in found["/off"].findings] == ["barriers-off"]
    assert found["/srv"].findings == ()


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths of the filesystems that are judged from now on."""
    paths: list[str] = []

    def noted(evidence: Evidence) -> Judgement:
        paths.append(evidence.target.path if evidence.target else "")
        return judge(evidence)

    monkeypatch.setattr("fstui.runs.rules.judge", noted)
    return paths


def test_an_unchanged_filesystem_is_not_judged_again(judged: list[str]) -> None:
    both = (target(), msgspec.structs.replace(target(), path="/other", mount_point="/other"))
    seen = JudgementCache()
    first = seen.judge(Inventory(filesystems=both))
    fuller = msgspec.structs.replace(both[0], space=Space(total_bytes=1, free_bytes=1), silent_s=3.0)
    assert seen.judge(Inventory(filesystems=(fuller, both[1]))) == first
    changed = msgspec.structs.replace(both[1], mount_options=("sync",))
    seen.judge(Inventory(filesystems=(fuller, changed)))
    assert judged == [both[0].path, "/other"]
    assert seen.judge(Inventory(filesystems=(fuller,))).keys() == {fuller.mount_point}


def test_filesystems_with_the_same_content_are_judged_once(judged: list[str]) -> None:
    def mounted(path: str, **barrier: Any) -> Target:
        alike = storage.target(storage.filesystem(name=path, **barrier), storage.disk())
        return msgspec.structs.replace(alike, path=path, mount_point=path)

    every = (*map(mounted, ("/a1", "/a2", "/a3")), *(mounted(path, barrier="nobarrier") for path in ("/b1", "/b2")))
    found = JudgementCache().judge(Inventory(filesystems=every))
    assert judged == ["/a1", "/b1", "/b2"]
    for path in ("/b1", "/b2"):  # what to do there names the filesystem
        assert path in found[path].findings[0].next[0]
    assert found == {one.path: judge(Evidence(target=one)) for one in every}


async def test_every_filesystem_that_answers_shows_its_space() -> None:
    machine = LocalMachine()
    inventory = await machine.with_space(machine.survey())
    answered = [one for one in inventory.filesystems if not one.pseudo and one.silent_s is None]
    assert answered
    assert all(one.space is None or 0 <= one.space.free_bytes <= one.space.total_bytes for one in answered)
    assert any(one.space for one in answered)
