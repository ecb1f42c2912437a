"""Each way in which the configuration is known to break a sync."""

from __future__ import annotations

import pytest

from fstui.judge import Case
from fstui.model.counters import DeviceCounters
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import HONEST_PROCESS, evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

PLP = Medium(class_="ssd-plp", write_cache="plp")
ZFS = target(
    filesystem("zfs", "/tank", below=("pool:tank",)),
    Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda",)),
    disk(),
)
LINEAR = target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())
UNCOMMITTED = step(changes={"counters": (DeviceCounters(device="mount:/tank", commits=0),)})


@pytest.mark.parametrize(
    ("seen", "breaks"),
    [
        (evidence(None, step()), False),
        (evidence(None, process=Process(pipe_fsync_fails=False)), True),
        (evidence(None, like=Process(pipe_fsync_fails=False)), False),
        (evidence(target(filesystem("tmpfs", below=()))), True),
        (evidence(target(filesystem("overlay", volatile="volatile", below=()))), True),
        (evidence(on_disk(filesystem("zfs", sync="disabled"))), True),
        (evidence(ZFS, UNCOMMITTED), True),
        (evidence(ZFS, UNCOMMITTED, process=Process(pipe_fsync_fails=False)), True),
        (evidence(on_disk(filesystem(barrier="nobarrier"))), True),
        (evidence(on_disk(filesystem(barrier="nobarrier"), disk(medium=PLP))), False),
        (evidence(on_disk(filesystem(), disk(write_cache="write through", readings=readings(vwc="present")))), True),
        (evidence(on_disk(filesystem(), disk(write_cache="write through"))), False),
    ],
    ids=[
        "honest", "stubbed", "another process is stubbed", "memory", "volatile", "sync=disabled", "no ZIL commits",
        "stubbed above ZFS", "no barriers", "no barriers, protected", "told write through", "write through",
    ],
)  # fmt: skip
def test_what_breaks_a_sync(seen: Evidence, breaks: bool) -> None:
    assert Case(seen).configuration.breaks_sync is breaks


def test_a_stubbed_process_never_asked_for_a_commit() -> None:
    case = Case(evidence(ZFS, UNCOMMITTED, process=Process(pipe_fsync_fails=False)))
    assert not case.configuration.defects


@pytest.mark.parametrize(
    ("target", "line"),
    [
        (on_disk(filesystem(barrier="nobarrier")), "mount:/srv: barrier nobarrier → barrier"),
        (on_disk(filesystem("zfs", sync="disabled")), "mount:/srv: sync disabled → standard"),
        (on_disk(filesystem("zfs", zil_replay_disable="1")), "mount:/srv: zil_replay_disable 1 → 0"),
        (
            on_disk(filesystem(), disk(write_cache="write through", readings=readings(vwc="present"))),
            "sda: write cache write through → write back",
        ),
    ],
    ids=["barriers", "sync", "the intent log", "the write cache"],
)
def test_what_was_set_right_meanwhile_accuses_nobody(target: Target, line: str) -> None:
    assert Case(evidence(target, step())).configuration.breaks_sync
    assert not Case(evidence(target, step(), step(changes={"changed": (line,)}))).configuration.breaks_sync


def test_an_honest_process_has_no_sign_of_a_stub() -> None:
    assert Case(Evidence(process=HONEST_PROCESS)).configuration.stub_signs == ()


def test_a_snapshot_that_forgets_breaks_syncs_whatever_is_counted() -> None:
    snapshot = block("dm-0", "dm-snapshot", "sda", readings=readings(persistent="no"))
    where = target(filesystem(below=("dm-0",)), snapshot, disk())
    assert Case(evidence(where, step())).configuration.breaks_sync


def test_a_filesystem_that_answers_syncs_by_itself_breaks_them() -> None:
    assert Case(evidence(on_disk(filesystem("cifs", strict_sync="no")), step())).configuration.breaks_sync


@pytest.mark.parametrize(("told", "volatile"), [("volatile", True), ("no", False)])
def test_an_overlay_is_volatile_by_what_was_read_of_it(told: str, volatile: bool) -> None:
    overlay = target(filesystem("overlay", volatile=told, below=()))
    assert bool(Case(evidence(overlay)).configuration.defects) is volatile


@pytest.mark.parametrize(
    ("level", "accused"), [("raid1", False), ("raid0", True)], ids=["a checked copy beside it", "alone"]
)
def test_a_checked_copy_makes_up_for_a_device_without_flushes(level: str, accused: bool) -> None:
    told = disk("sdb", kind="md", readings=readings(consistency_policy="ppl"))
    where = target(filesystem("btrfs", below=("sda", "sdb"), level=level, metadata_level=level), disk(), told)
    assert bool(Case(evidence(where, step())).configuration.defects) is accused
