"""What another machine, or a program, answers for."""

from __future__ import annotations

import pytest

from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, loop, on_disk, target


def served(kind: str = "nfs4", **values: str) -> Target:
    top = filesystem(kind, "/mnt", below=(f"remote:{kind}",), **values)
    return target(top, Node(id=f"remote:{kind}", layer="remote", kind=kind, name="filer:/vol1"))


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("nfs4", "the server"),
        ("cifs", "the server"),
        ("fuse.sshfs", "a program of this box"),
        ("9p", "the host"),
        ("virtiofs", "the host"),
    ],
)
def test_what_is_served_from_elsewhere_cannot_be_told(kind: str, who: str) -> None:
    judgement = verdict(served(kind))
    assert (judgement.verdict, finding(judgement, "remote-filesystem").title) == (
        "cannot-tell",
        f"{kind}: {who} answers",
    )


@pytest.mark.parametrize(("trans", "who"), [("tcp", "the server"), ("unix", "the server"), ("virtio", "the host")])
def test_9p_over_a_socket_is_answered_by_a_server(trans: str, who: str) -> None:
    assert finding(verdict(served("9p", trans=trans)), "remote-filesystem").title == f"9p: {who} answers"


@pytest.mark.parametrize(("commits", "words"), [(2000, "2 000 syncs sent 2 000 COMMITs"), (0, "asked to be stable")])
def test_commits_are_told_and_flat_ones_accuse_nobody(commits: int, words: str) -> None:
    counters = (DeviceCounters(device="mount:/mnt", commits=commits),)
    judgement = verdict(served(), step(changes={"counters": counters}))
    assert judgement.verdict == "cannot-tell"
    assert words in judgement.sentence


def test_nostrictsync_is_said() -> None:
    assert "nostrictsync" in verdict(served("cifs", strict_sync="no")).sentence


def test_a_loop_on_a_server_is_the_servers_affair_whatever_the_loop_received() -> None:
    image = Node(id="file:/x.img", layer="file", kind="file", name="/x.img", below=("mount:/mnt",))
    stack = target(filesystem(below=("loop0",)), loop(), image, *served().stack)
    judgement = verdict(stack, step(flushes={"loop0": 1}))
    assert "flushes-arrive" in rules(judgement)
    assert judgement.verdict == "cannot-tell"


def test_a_local_filesystem_is_not_served() -> None:
    assert "remote-filesystem" not in rules(verdict(on_disk(filesystem("xfs"), disk())))
