"""Syncs that returned before anything could have been written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fstui.judge import judge
from fstui.model.host import Host, Process
from fstui.model.quantities import duration_ns
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.evidence import evidence, rules, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import filesystem, on_disk, readings, target

HIDDEN = target(filesystem("overlay", "/", below=(), upperdir="/var/lib/docker/overlay2/x/diff"))
"""In a container: where its upper directory lies cannot be seen."""
KNOWN = Process(memory_sync_ns=160, memory_write_ns=3_000)
"""What a file in memory took; on an emulated processor far longer."""
EMULATED = Process(memory_sync_ns=2_000, memory_write_ns=50_000)
NEW = Host(kernel="6.12.107+deb13-amd64")


def quick(sync_ns: int = 207, write_ns: int = 3000, **settings: Any) -> Step:
    changes = {"write_ns": latency(write_ns), "sync_ns": latency(sync_ns)}
    return step(rate=150_000, flushes={}, changes=changes, **settings)


def test_a_container_on_a_tmpfs_that_it_cannot_see() -> None:
    judgement = verdict(HIDDEN, quick(), process=KNOWN, host=NEW)
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "medium")
    assert "fdatasync returned after 207 ns" in judgement.sentence
    assert "overlay /" in judgement.sentence


@pytest.mark.parametrize(
    ("process", "done"), [(KNOWN, quick(4_999)), (EMULATED, quick(7_400, 148_000))], ids=["known", "emulated"]
)
def test_what_is_as_quick_as_known_memory_is_in_memory(process: Process, done: Step) -> None:
    judgement = verdict(HIDDEN, done, process=process, host=NEW)
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "medium")
    (finding,) = (found for found in judgement.findings if found.rule == "sync-too-quick")
    assert finding.because[-1] == f"a file known to be in memory: {duration_ns(process.memory_sync_ns or 0)}"


@pytest.mark.parametrize(
    ("process", "done"),
    [
        (KNOWN, quick(5_000)),
        (KNOWN, quick(write_ns=20_000)),
        (EMULATED, quick(16_000, 90_000)),
        (EMULATED, quick(7_400, 200_000)),
    ],
    ids=["a device", "written by the write", "an emulated device", "written by an emulated write"],
)
def test_what_is_slower_than_known_memory_is_left_alone(process: Process, done: Step) -> None:
    assert "sync-too-quick" not in rules(verdict(HIDDEN, done, process=process, host=NEW))


@pytest.mark.parametrize("kernel", ["5.4.0-216-generic", "4.18.0-553.el8_10.x86_64", ""])
def test_a_kernel_that_is_silent_about_dax_may_have_it_below(kernel: str) -> None:
    assert "sync-too-quick" not in rules(verdict(HIDDEN, quick(), process=KNOWN, host=Host(kernel=kernel)))


def test_gvisor_has_no_dax_whatever_kernel_it_says_to_be() -> None:
    here = Host(kernel="4.19.0-gvisor")
    assert "sync-too-quick" in rules(verdict(HIDDEN, quick(), process=KNOWN, host=here))
    assert "sync-too-quick" not in rules(verdict(HIDDEN, quick(5_000), process=KNOWN, host=here))


@pytest.mark.parametrize("process", [Process(), Process(memory_sync_ns=160), Process(memory_write_ns=3_000)])
def test_without_memory_to_hold_it_against_nothing_is_said(process: Process) -> None:
    assert "sync-too-quick" not in rules(verdict(HIDDEN, quick(), process=process, host=NEW))


def test_without_a_stack_nothing_is_said() -> None:
    nowhere = msgspec.structs.replace(evidence(HIDDEN, quick(), process=KNOWN, host=NEW), target=None)
    assert "sync-too-quick" not in rules(judge(nowhere))


def test_a_sync_past_the_page_cache_has_only_the_processors_caches_to_write_back() -> None:
    """statx tells of DAX through an overlay, whatever lies below it; a mount option that forbids it is none."""
    never = target(filesystem(below=(), dax="never"))
    assert "sync-too-quick" in rules(verdict(never, quick(), process=KNOWN, host=NEW))
    dax = target(filesystem("overlay", "/", below=(), file_dax="x"))
    assert "sync-too-quick" not in rules(verdict(dax, quick(), process=KNOWN, host=NEW))


@pytest.mark.parametrize(
    "done",
    [
        quick(5_000),
        quick(write_ns=20_000),
        quick(sync="none", open_flags=("dsync",)),
        quick(open_flags=("direct",)),
        quick(offsets="append"),
        quick(ops=19),
        quick(writers=4),
        step(rate=150_000, flushes={}),
    ],
    ids=["a device", "written by the write", "no call", "direct", "append", "too few", "writers", "not told apart"],
)
def test_what_takes_longer_or_is_something_else_is_left_alone(done: Step) -> None:
    assert "sync-too-quick" not in rules(verdict(HIDDEN, done, process=KNOWN, host=NEW))


@pytest.mark.parametrize(
    "where",
    [
        on_disk(),
        target(filesystem("nfs4", below=())),
        target(filesystem("fuse.sshfs", below=())),
        target(
            filesystem("overlay", "/", below=("mount:/up",)),
            filesystem("9p", "/up", below=("server",)),
            Node(id="server", layer="remote", kind="server", name="server", lowest=True),
        ),
        target(filesystem("overlay", "/", below=(), volatile="volatile")),
        target(filesystem("tmpfs", below=())),
    ],
    ids=["a disk", "a share", "a program", "an upper on a share", "volatile, said elsewhere", "memory, said elsewhere"],
)
def test_where_what_lies_beneath_is_known_that_speaks(where: Target) -> None:
    assert "sync-too-quick" not in rules(verdict(where, quick(), process=KNOWN, host=NEW))


def test_a_process_without_syncs_is_said_elsewhere() -> None:
    stubbed = msgspec.structs.replace(KNOWN, preloads=readings(preload="/usr/lib/libeatmydata.so"))
    assert "sync-too-quick" not in rules(verdict(HIDDEN, quick(), process=stubbed, host=NEW))
