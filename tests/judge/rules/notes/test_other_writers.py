"""Who else writes to these devices."""

from __future__ import annotations

from tests.factories.evidence import busy, finding, rules, verdict


def test_other_writers_are_counted_and_named() -> None:
    found = finding(verdict(idle=busy("sda", 3, "mysqld\x1b[2J")), "other-writers")
    assert (found.verdict, found.confidence) == (None, "low")
    assert "3.00 flushes/s" in found.title
    assert any("mysqld\x1b[2J (700)" in line for line in found.because)


def test_a_device_that_is_not_ours_is_no_neighbour() -> None:
    assert rules(verdict(idle=busy("sdz", 300))) == set()
