"""Syncs that returned before anything could have been written."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Process
from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.evidence import rules, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import filesystem, on_disk, readings, target

HIDDEN = target(filesystem("overlay", "/", below=(), upperdir="/var/lib/docker/overlay2/x/diff"))
"""In a container: where its upper directory lies cannot be seen."""


def quick(sync_ns: int = 207, write_ns: int = 3000, **settings: Any) -> Step:
    changes = {"write_ns": latency(write_ns), "sync_ns": latency(sync_ns)}
    return step(rate=150_000, flushes={}, changes=changes, **settings)


def test_a_container_on_a_tmpfs_that_it_cannot_see() -> None:
    judgement = verdict(HIDDEN, quick())
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "medium")
    assert "fdatasync returned after 207 ns" in judgement.sentence
    assert "overlay /" in judgement.sentence


@pytest.mark.parametrize(
    "done",
    [
        quick(2000),
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
    assert "sync-too-quick" not in rules(verdict(HIDDEN, done))


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
    assert "sync-too-quick" not in rules(verdict(where, quick()))


def test_a_process_without_syncs_is_said_elsewhere() -> None:
    stubbed = Process(preloads=readings(preload="/usr/lib/libeatmydata.so"))
    assert "sync-too-quick" not in rules(verdict(HIDDEN, quick(), process=stubbed))
