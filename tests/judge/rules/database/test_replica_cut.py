"""Commits that were acknowledged before a primary was stopped."""

from typing import Any

from fstui.measure.kinds.replica_cut import ReplicaCut, ReplicaCutFigures
from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step

RULE = "replica-cut"
HIGH, LOW = ("1", "1"), ("0", "2")


def ended(name: str = "power cut", durability: tuple[str, str] = HIGH, **figures: Any) -> Step:
    """A thousand acknowledged commits, all on both servers unless ``figures`` says otherwise."""
    log, commit = durability
    values = {
        "title": "MariaDB 10.11.19",
        "primary_settings": (f"sync_binlog = {log}", f"innodb_flush_log_at_trx_commit = {commit}"),
        "acknowledged": 1000,
        "on_primary": 1000,
        "on_replica": 1000,
        **figures,
    }
    return Step(name=name, settings=ReplicaCut(server="mariadb"), ops=1000, figures=ReplicaCutFigures(**values))


def test_no_loss_is_a_note() -> None:
    found = finding(verdict(None, step(), ended()), RULE)
    assert (found.verdict, found.title) == (None, "no acknowledged commit was lost")


def test_loss_on_a_durable_primary_is_not_durable() -> None:
    found = finding(verdict(None, step(), ended(on_primary=990, lost_on_primary=10)), RULE)
    assert (found.verdict, found.scope, found.confidence) == ("not-durable", "process", "medium")
    assert found.title == "10 of 1\xa0000 commits lost on a durable primary"


def test_loss_on_a_primary_that_does_not_wait_is_a_note() -> None:
    cut = ended(durability=LOW, on_primary=400, lost_on_primary=600, on_replica_alone=600)
    found = finding(verdict(None, step(), cut), RULE)
    assert (found.verdict, found.title) == (None, "600 of 1\xa0000 commits lost on the primary, none on both servers")
    assert "600 are only on the replica." in found.sentence
    assert "sync_binlog = 1" in found.next[0]


def test_loss_on_both_comes_first() -> None:
    both = {"lost_on_primary": 5, "lost_on_replica": 7, "lost_everywhere": 3}
    cuts = (ended("a", LOW, lost_on_primary=600), ended("b", LOW, **both))
    assert finding(verdict(None, step(), *cuts), RULE).title == "3 of 1\xa0000 commits lost on both servers"


def test_commits_not_on_the_replica_are_not_lost() -> None:
    found = finding(verdict(None, step(), ended("kill -9", lost_on_replica=5)), RULE)
    assert (found.verdict, found.title) == (None, "5 of 1\xa0000 commits not on the replica, none lost")


def test_step_without_a_comparison_is_not_reported() -> None:
    assert RULE not in rules(verdict(None, step(), ended(on_primary=None)))
