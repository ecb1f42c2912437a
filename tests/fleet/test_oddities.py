"""Boxes beside their equals."""

from typing import Any

from fstui.fleet.boxes import Box, Rate
from fstui.fleet.oddities import groups, odd_rates, worse_verdicts

RATES = (810, 790, 805, 820, 812, 799)


def box(node: str, per_s: float = 800.0, **more: Any) -> Box:
    given = {"layers": "ext4 › disk", "model": "SSD 1", "cache": "write back", "verdict": "consistent", **more}
    return Box(node=node, rates=(Rate(step="fdatasync", per_s=per_s, p99_ns=2_000_000),), **given)


def equals(**more: Any) -> list[Box]:
    facts = {"disk write cache": "write back", "ext4 barrier": "barrier"}
    return [box(f"db{at}", rate, facts=facts, **more) for at, rate in enumerate(RATES)]


def test_a_slow_one_is_named_with_its_rate_its_equals_and_what_is_set_otherwise() -> None:
    slow = box("db17", 325.0, facts={"disk write cache": "write through", "ext4 barrier": "barrier"})
    (odd,) = odd_rates([*equals(), slow])
    assert odd.box.node == "db17"
    assert odd.sentence.startswith("0.4 × its 6 equals in fdatasync (325/s, their median 805/s, MAD ")
    assert odd.sentence.endswith(": its disk write cache is off, theirs is on")


def test_a_fast_one_is_as_odd_and_what_explains_nothing_is_not_named() -> None:
    fast = box("db17", 8000.0, facts={**equals()[0].facts, "disk serial": "x17"})
    others = [box(one.node, one.rates[0].per_s, facts={**one.facts, "disk serial": one.node}) for one in equals()]
    (odd,) = odd_rates([*others, fast])
    assert odd.sentence.endswith("; nothing that was read explains it")


def test_a_hundredth_is_not_odd_however_even_the_others_are() -> None:
    assert odd_rates([*(box(f"db{at}") for at in range(20)), box("db20", 780.0)]) == []


def test_too_few_have_no_distribution() -> None:
    assert odd_rates([*equals()[:3], box("db17", 80.0)]) == []


def test_boxes_on_something_else_are_no_equals() -> None:
    assert odd_rates([*equals(), box("db17", 80.0, model="HDD")]) == []


def test_a_note_that_its_equals_have_not_explains() -> None:
    slow = box("db17", 300.0, facts=equals()[0].facts, notes={"stack-state": "md0 is resyncing"})
    (odd,) = odd_rates([*equals(), slow])
    assert odd.sentence.endswith(": md0 is resyncing")


def test_a_verdict_worse_than_its_equals_is_named_with_its_sentence() -> None:
    liar = box(
        "db9", verdict="not-durable", confidence="high", sentence="Nothing is flushed.", facts={"ext4 barrier": "no"}
    )
    (worse,) = worse_verdicts([*equals(), liar])
    assert worse.sentence == (
        "not-durable (high), its 6 equals consistent: Nothing is flushed. It has no disk write cache, theirs is write "
        "back; its ext4 barrier is no, theirs barrier."
    )


def test_one_that_has_no_equals_is_held_against_all() -> None:
    alone = box("db9", verdict="suspicious", layers="xfs › disk")
    assert [odd.box.node for odd in worse_verdicts([*equals(), alone])] == ["db9"]
    assert worse_verdicts([alone]) == []


def test_groups_stand_on_the_same_and_have_a_distribution() -> None:
    found = groups([*equals(), box("db9", kernel="6.1.0")])
    assert [len(group.boxes) for group in found] == [6, 1]
    (spread,) = found[0].spreads
    assert (spread.least, spread.median, spread.most) == (790, 807.5, 820)
