"""A snapshot that forgets."""

from __future__ import annotations

from fstui.model.storage import Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target

RULE = "transient-snapshot"


def snapshot(**facts: str) -> Target:
    layer = block("dm-0", "dm-snapshot", "sda", "sdb", readings=readings(**facts))
    return target(filesystem(below=("dm-0",)), layer, disk(), disk("sdb"))


def on_snapshot(**facts: str) -> set[str]:
    return rules(verdict(snapshot(**facts)))


def test_a_store_that_is_not_persistent_is_gone_after_a_reboot() -> None:
    assert RULE in on_snapshot(persistent="no")


def test_a_persistent_store_is_not() -> None:
    assert RULE not in on_snapshot(persistent="yes")


def test_a_table_that_was_not_read_tells_nothing() -> None:
    assert RULE not in on_snapshot()


def test_what_was_measured_there_is_told_and_nothing_where_nothing_was() -> None:
    forgets = snapshot(persistent="no")
    assert finding(verdict(forgets, step()), RULE).sentence.endswith("synced or not (2 000 syncs a second).")
    assert finding(verdict(forgets), RULE).sentence.endswith("synced or not.")
