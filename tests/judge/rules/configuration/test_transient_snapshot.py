"""A snapshot that forgets."""

from __future__ import annotations

from tests.factories.evidence import rules, verdict
from tests.factories.storage import block, disk, filesystem, readings, target

RULE = "transient-snapshot"


def on_snapshot(**facts: str) -> set[str]:
    snapshot = block("dm-0", "dm-snapshot", "sda", "sdb", readings=readings(**facts))
    return rules(verdict(target(filesystem(below=("dm-0",)), snapshot, disk(), disk("sdb"))))


def test_a_store_that_is_not_persistent_is_gone_after_a_reboot() -> None:
    assert RULE in on_snapshot(persistent="no")


def test_a_persistent_store_is_not() -> None:
    assert RULE not in on_snapshot(persistent="yes")


def test_a_table_that_was_not_read_tells_nothing() -> None:
    assert RULE not in on_snapshot()
