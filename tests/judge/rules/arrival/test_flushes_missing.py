"""Fewer flushes than expected."""

from typing import Any

import pytest

from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step, traced
from tests.factories.storage import disk, filesystem, on_disk
from tests.judge.facts.test_flushes import external_journal


@pytest.mark.parametrize(
    ("flushes", "expected"),
    [(0, "not-durable"), (0.9, "not-durable"), (0.997, "not-durable"), (0.998, "consistent")],
)
def test_two_in_a_thousand_may_be_missing(flushes: float, expected: str) -> None:
    judgement = verdict(None, step(flushes=flushes))
    assert judgement.verdict == expected


def test_finding_says_how_many_and_where() -> None:
    found = finding(verdict(None, step(flushes=0)), "flushes-missing")
    assert (found.confidence, found.scope, found.steps) == ("high", "storage", ("fdatasync",))
    assert found.title == "0.00 flushes per sync at sda, 1 expected"
    assert "2\xa0000 syncs" in found.sentence
    assert "1.0 s measured" in found.sentence


@pytest.mark.parametrize(("journal", "named"), [("no", True), ("yes", False)])
def test_ext4_without_a_journal_may_send_none_itself(journal: str, named: bool) -> None:
    found = finding(verdict(on_disk(filesystem(journal=journal)), step(flushes=0)), "flushes-missing")
    assert found.verdict == "not-durable"
    assert ("The filesystem itself" in found.sentence) is named
    assert ("tune2fs" in found.next[0]) is named


def test_one_bad_step_is_enough() -> None:
    judgement = verdict(None, step(), step("O_DSYNC", sync="none", open_flags=("dsync",), flushes=0))
    assert judgement.verdict == "not-durable"
    assert "flushes-arrive" not in rules(judgement)


def test_no_flush_is_expected_at_an_unknown_cache() -> None:
    assert "flushes-missing" not in rules(verdict(on_disk(filesystem(), disk(write_cache=None)), step(flushes=0)))


def test_ext4_with_an_external_journal_flushes_only_the_journal() -> None:
    """Linux 6.12: 73 fsyncs sent 146 flushes to the journal and none to the data; two power cuts lost them all."""
    committed = step("fsync", sync="fsync", flushes={"sda": 0, "sdb": 2}, share={"sda": 1, "sdb": 1})
    found = finding(verdict(external_journal(), committed), "flushes-missing")
    assert found.verdict == "not-durable"
    assert any("external journal" in line for line in found.next)


def test_flushes_of_a_neighbour_do_not_hide_missing_ones() -> None:
    measured = step(flushes=3, share=2, changes={"trace": (traced(us=0, others=6000),)})
    judgement = verdict(None, measured, idle=busy("sda", 900))
    found = finding(judgement, "flushes-missing")
    assert (judgement.verdict, found.confidence) == ("not-durable", "high")
    assert found.title == "0.00 flushes per sync at sda, 1 expected"
    others = "according to the kernel's trace, while other processes requested 6\xa0000"
    assert f"produced 0 flushes at sda, {others}, in" in found.sentence


@pytest.mark.parametrize(
    ("flushes", "missing"),
    [(0.0, True), (0.2, True), (0.25, False), (0.7, False)],
    ids=["none", "few", "shared", "usual"],
)
def test_four_writers_need_a_quarter_of_a_flush_per_sync(flushes: float, missing: bool) -> None:
    together = verdict(None, step(flushes=flushes, writers=4))
    assert ("flushes-missing" in rules(together)) == missing
    assert together.verdict == ("not-durable" if missing else "cannot-tell")
    if missing:
        assert "1/4 to 1 expected" in finding(together, "flushes-missing").sentence


@pytest.mark.parametrize(
    "changes",
    [{"sync_every": 10}, {"sync": "none"}, {"changes": {"changed": ("sda: FUA no → yes",)}}, {"status": "failed"}],
    ids=["rare syncs", "none", "storage changed", "failed"],
)
def test_several_writers_without_a_sync_per_write_expect_nothing(changes: dict[str, Any]) -> None:
    assert "flushes-missing" not in rules(verdict(None, step(flushes=0, writers=4, **changes)))
