"""O_DSYNC that costs less than what it promises."""

from __future__ import annotations

import pytest

from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop, readings

SYNC = step()
RULE = "odsync-cheaper"


def dsync(rate: float, flushes: float | None) -> Step:
    return step("O_DSYNC", rate=rate, flushes=flushes, open_flags=("dsync",), sync="none")


def test_far_cheaper_without_its_flushes_is_suspicious() -> None:
    said = finding(verdict(None, SYNC, dsync(9000, 0.0)), RULE)
    assert said.verdict == "suspicious" and "does less for the flag" in said.sentence
    assert said.because[1] == "O_DSYNC: 9 000/s, 0.00 flushes each"


def test_far_cheaper_where_no_flush_is_counted_is_a_warning_and_no_verdict() -> None:
    said = finding(verdict(uncounted(), SYNC, dsync(9000, None)), RULE)
    assert said.verdict is None and "No layer counts flushes" in said.sentence


def test_far_cheaper_with_its_flushes_is_a_note() -> None:
    said = finding(verdict(None, SYNC, dsync(9000, 1.0)), RULE)
    assert said.verdict is None and "the flag works" in said.sentence


def test_a_little_cheaper_is_nothing() -> None:
    assert RULE not in rules(verdict(None, SYNC, dsync(5000, 0.0)))


@pytest.mark.parametrize(
    "where",
    [
        on_disk(filesystem(), disk(write_cache="write through")),
        on_disk(filesystem("newfs"), disk(link="fc", readings=readings(grade="array"))),
        on_loop(device=loop(counted=False), below=disk(write_cache="write through")),
    ],
    ids=["write through", "nobody knows what is expected", "expected above, where none is counted"],
)
def test_where_none_is_known_to_be_owed_it_is_a_note(where: Target) -> None:
    flushes = {"loop0": None, "sda": 0.0}
    said = finding(verdict(where, step(flushes=flushes), dsync(9000, 0.0)), RULE)
    assert said.verdict is None


def test_what_is_dropped_by_both_is_said_elsewhere() -> None:
    nobarrier = on_disk(filesystem(barrier="nobarrier"))
    assert RULE not in rules(verdict(nobarrier, step(flushes=0), dsync(9000, 0.0)))


def test_a_handful_of_writes_is_no_measure() -> None:
    few = step("O_DSYNC", rate=9000, ops=19, flushes=0.0, open_flags=("dsync",), sync="none")
    assert RULE not in rules(verdict(None, SYNC, few))


def test_o_direct_may_be_one_forced_write() -> None:
    forced = step("O_DIRECT+O_DSYNC", rate=9000, flushes=0.0, open_flags=("direct", "dsync"), sync="none")
    assert RULE not in rules(verdict(on_disk(filesystem(), disk(fua=True)), SYNC, forced))


def uncounted() -> Target:
    """A disk with iostats off."""
    device: Node = disk(counted=False)
    return on_disk(filesystem(), device)
