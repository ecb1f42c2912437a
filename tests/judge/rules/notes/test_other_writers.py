"""Who else writes to these devices."""

from __future__ import annotations

from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step


def test_other_writers_are_counted_and_named() -> None:
    found = finding(verdict(idle=busy("sda", 3, "mysqld\x1b[2J")), "other-writers")
    assert (found.verdict, found.confidence) == (None, "low")
    assert "3.00 flushes/s" in found.title
    assert any("mysqld\x1b[2J (700)" in line for line in found.because)


def test_a_device_that_is_not_ours_is_no_neighbour() -> None:
    assert rules(verdict(idle=busy("sdz", 300))) == set()


def test_more_than_was_sent_may_be_of_a_layer_between_where_nobody_wrote_before() -> None:
    """md's own journal was called somebody else."""
    found = finding(verdict(None, step(flushes=2.7)), "other-writers")
    assert found.title == "more than fstui sent, during fdatasync"
    assert (
        "At sda more arrived than fstui sent: somebody else wrote there, though not while fstui was idle, or the "
        "filesystem or a layer beneath adds writes of its own." in found.sentence
    )
    unseen = finding(verdict(None, step(flushes=2.7), idle=None), "other-writers")
    assert "somebody else wrote there, or the filesystem or a layer beneath" in unseen.sentence
    beside = finding(verdict(None, step(flushes=2.7), idle=busy("sda", 300)), "other-writers")
    assert "Others write to the same devices (sda 300 flushes/s" in beside.sentence
