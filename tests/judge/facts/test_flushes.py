"""One level in one step: what it lacks, what exceeds what was asked, what it proves."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.judge import Case
from fstui.judge.facts.flushes import FlushAccount, fewest_bytes, fewest_flushes
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced


def account(
    flushes: float = 1.0, share: float = 1.0, changes: dict[str, Any] | None = None, **fields: Any
) -> FlushAccount:
    seen = evidence(None, step(flushes=flushes, share=share, changes=changes), **fields)
    ((found,),) = Case(seen).flushes.synced
    return found


@pytest.mark.parametrize(
    ("flushes", "share", "lacks_flushes", "lacks_bytes", "exceeds"),
    [
        (1.0, 1.0, False, False, False),
        (0.5, 1.0, True, False, False),
        (1.0, 0.89, False, True, False),
        (1.04, 1.0, False, False, False),
        (1.06, 1.0, False, False, True),
        (1.0, 1.06, False, False, True),
        (1.0, 1.04, False, False, False),
    ],
)
def test_too_little_and_too_much(
    flushes: float, share: float, lacks_flushes: bool, lacks_bytes: bool, exceeds: bool
) -> None:
    found = account(flushes, share)
    assert (found.outcome == "missing", found.lacks_bytes, found.exceeds) == (lacks_flushes, lacks_bytes, exceeds)
    assert (found.outcome == "complete") is not (lacks_flushes or lacks_bytes or exceeds)


def test_a_busy_neighbour_spoils_the_proof_and_excuses_nothing() -> None:
    quiet, spoilt = account(), account(idle=busy("sda", 101))
    assert (quiet.others_wrote, quiet.outcome, quiet.by_others_per_s) == (False, "complete", 0.0)
    assert (spoilt.others_wrote, spoilt.outcome, spoilt.by_others_per_s) == (True, "noisy", 101.0)
    assert account(0.5, idle=busy("sda", 101)).outcome == "missing"


def test_what_the_trace_saw_asked_for_proves_nothing_where_the_counters_say_that_less_was_done() -> None:
    ours = {"trace": (traced(us=2000, others=4000),)}
    noisy = {"idle": busy("sda", 900)}
    assert account(3.0, 2.0, changes=ours, **noisy).proves_by_trace
    fewer, less = account(0.5, 2.0, changes=ours, **noisy), account(3.0, 0.5, changes=ours, **noisy)
    assert not (fewer.proves_by_trace or less.proves_by_trace)
    assert (fewer.sent.traced, fewer.sent.flushes) == (None, 1000)


def test_where_too_few_were_ours_it_is_told_how_many_may_have_been() -> None:
    few = account(3.0, 2.0, changes={"trace": (traced(us=100, kernel=300, others=5600),)})
    assert few.lacks_ours
    assert few.sent.flushes == 400


def test_what_arrived_is_told_in_a_line() -> None:
    assert account(0.5).flush_line == "fdatasync: 1 000 flushes for 2 000 syncs at sda (0.50, 1 expected)"
    assert account(1.0, 0.5).byte_line == "fdatasync: 15.6 MiB of 31.2 MiB at sda (0.50)"


def test_the_worst_of_several_is_that_with_the_fewest() -> None:
    some = [account(0.5, 0.9), account(0.2, 0.95)]
    assert fewest_flushes(some) is some[1] and fewest_bytes(some) is some[0]
