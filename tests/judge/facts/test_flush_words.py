"""What several accounts come to, in words."""

from __future__ import annotations

import pytest

from fstui.judge import Case
from fstui.judge.facts.flush_words import not_told_apart, unproven, whose
from fstui.judge.facts.flushes import FlushAccount
from fstui.model.counters import DeviceTrace
from fstui.model.storage import Node, Target
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced
from tests.factories.storage import disk, filesystem, on_disk


def accounts(
    storage: Target | None = None, share: float = 1.0, per_s: int = 900, flushes: int = 1, **more: object
) -> tuple[FlushAccount, ...]:
    case = Case(evidence(storage, step(share=share, flushes=flushes, changes=more), idle=busy("sda", per_s)))
    return tuple(way[0] for way in case.flushes.synced)


@pytest.mark.parametrize(
    ("storage", "share", "words"),
    [
        (None, 1.0, ", and all 31.2 MiB arrived"),
        (None, 0.95, ", and 29.7 MiB of 31.2 MiB arrived"),
        (on_disk(filesystem("btrfs")), 5.0, ""),
    ],
)
def test_bytes_that_came_along(storage: Target | None, share: float, words: str) -> None:
    assert whose(accounts(storage, share)) == words


def test_ours_by_the_trace() -> None:
    found = accounts(share=2.0, trace=(traced(us=2000, others=7),))
    assert whose(found) == ", its own by the kernel's trace, while others asked for 7"


def test_ours_among_nobody_else_s() -> None:
    """What the layers between add is not others'."""
    assert whose(accounts(share=2.0, trace=(traced(us=2000),))) == ", its own by the kernel's trace"


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        ((), "theirs cannot be told from ours"),
        (
            (traced(us=500, fua=500, others=9000),),
            "0.50 of them were asked for by fstui itself, by the kernel's trace, and a commit that others asked for "
            "may have carried the rest",
        ),
    ],
)
def test_why_others_drown_ours(trace: tuple[DeviceTrace, ...], words: str) -> None:
    assert not_told_apart(accounts(on_disk(filesystem("btrfs")), share=9.0, flushes=5, trace=trace)) == words


@pytest.mark.parametrize(
    ("device", "flushes", "words"),
    [
        (disk(), 2, "At sda, further down, others write too, so nothing is proven there. "),
        (disk(counted=False), 0, "Further down, sda counts no flushes, so nothing is proven there. "),
        (
            disk(write_cache="write through"),
            0,
            "Further down, no flush is expected at sda: the kernel takes it for “write through”. ",
        ),
    ],
)
def test_why_the_next_level_proves_nothing(device: Node, flushes: int, words: str) -> None:
    assert unproven(accounts(on_disk(None, device), per_s=0, flushes=flushes)) == words


def test_nothing_is_to_be_said_where_all_is_proven() -> None:
    assert unproven(()) == ""
