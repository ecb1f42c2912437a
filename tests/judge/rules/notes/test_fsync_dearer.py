"""fsync against fdatasync, of the same writes."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Process
from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk

RULE = "fsync-dearer"


def by_fsync(rate: float = 42, flushes: float | None = 2.0, **settings: Any) -> Step:
    return step("fsync", rate=rate, ops=round(rate), sync="fsync", flushes=flushes, **settings)


def by_fdatasync(rate: float = 84, flushes: float | None = 1.0, **settings: Any) -> Step:
    return step("fdatasync", rate=rate, ops=round(rate), flushes=flushes, **settings)


def test_twice_the_price_is_a_note_with_both_numbers_and_no_verdict() -> None:
    judgement = verdict(None, by_fsync(), by_fdatasync())
    found = finding(judgement, RULE)
    assert (found.verdict, found.scope, found.steps) == (None, "step", ("fsync", "fdatasync"))
    assert found.title == "fsync 42.0/s, fdatasync 84.0/s"
    assert "2.0 × as many, since fsync commits the timestamps, too" in found.sentence
    assert found.because == ("fsync: 42.0/s, 2.00 flushes each", "fdatasync: 84.0/s, 1.00 flushes each")
    assert judgement.verdict == "consistent"


@pytest.mark.parametrize(("rate", "hit"), [(63, True), (62, False)])
def test_it_takes_one_and_a_half_times(rate: float, hit: bool) -> None:
    assert (RULE in rules(verdict(None, by_fsync(), by_fdatasync(rate)))) is hit


@pytest.mark.parametrize("flushes", [1.0, 1.19, None])
def test_where_fsync_sends_no_more_flushes_something_else_made_the_difference(flushes: float | None) -> None:
    assert RULE not in rules(verdict(None, by_fsync(flushes=flushes), by_fdatasync()))


def test_where_no_flush_is_sent_or_counted_it_is_silent() -> None:
    through = on_disk(filesystem(), disk(write_cache="write through"))
    assert RULE not in rules(verdict(through, by_fsync(flushes=0), by_fdatasync(flushes=0)))
    uncounted = on_disk(filesystem(), disk(counted=False))
    assert RULE not in rules(verdict(uncounted, by_fsync(flushes=None), by_fdatasync(flushes=None)))
    assert RULE not in rules(verdict(None, by_fsync(), by_fdatasync(flushes=None)))


def test_what_has_no_rate_is_compared_with_nothing() -> None:
    assert RULE not in rules(verdict(None, by_fsync(changes={"rate_per_s": 0.0}), by_fdatasync()))


@pytest.mark.parametrize(
    "settings",
    [{"open_flags": ("direct",)}, {"offsets": "same"}, {"writers": 4}, {"sync_every": 10}, {"status": "disturbed"}],
    ids=str,
)
def test_only_steps_that_differ_in_the_call_alone_are_compared(settings: dict[str, Any]) -> None:
    assert RULE not in rules(verdict(None, by_fsync(), by_fdatasync(**settings)))
    both = {name: value for name, value in settings.items() if name in {"open_flags", "offsets"}}
    assert not both or RULE in rules(verdict(None, by_fsync(**both), by_fdatasync(**both)))


def test_where_syncs_are_known_to_be_worth_nothing_their_price_is_too() -> None:
    stubbed = Process(pipe_fsync_fails=False)
    assert RULE not in rules(verdict(None, by_fsync(), by_fdatasync(), process=stubbed))
