"""Forced writes that come to a write cache as plain ones."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.storage import Node
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, readings, target

RULE = "fua-dropped"


def served(
    name: str = "sdb", below: str = "sda", *, fua: bool | None = True, store: str = "a block device", **changes: Any
) -> Node:
    """A disk of this box's own target."""
    return disk(name, lowest=False, below=(below,), fua=fua, readings=readings(store=store), **changes)


def test_what_ends_a_commit_waits_in_the_cache_of_a_disk_without_fua() -> None:
    found = finding(verdict(target(filesystem(below=("sdb",)), served(), disk(fua=False))), RULE)
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
    assert "hands them to sda as plain ones" in found.sentence
    assert "sdb store: a block device (/read/store)" in found.because


def test_a_log_of_its_own_is_enough() -> None:
    top = filesystem("xfs", below=("sdc", "sdb"))
    assert RULE in rules(verdict(target(top, disk("sdc", fua=False), served(), disk(fua=False))))


@pytest.mark.parametrize(("above", "below"), [
    (served(fua=False), disk(fua=False)), (served(), disk(fua=True)), (served(), disk(fua=None)),
    (served(), disk(fua=False, write_cache="write through")), (served(store="O_DSYNC"), disk(fua=False)),
    (served(write_cache="write through"), disk(fua=False)),
], ids=["none said", "taken", "unknown", "no cache", "a file", "none sent"])  # fmt: skip
def test_where_none_is_sent_taken_or_needed_none_is_lost(above: Node, below: Node) -> None:
    assert RULE not in rules(verdict(target(filesystem(below=("sdb",)), above, below)))


@pytest.mark.parametrize("fstype", ["vfat", "jfs"])
def test_a_filesystem_that_may_send_flushes_alone_is_not_accused(fstype: str) -> None:
    assert RULE not in rules(verdict(target(filesystem(fstype, below=("sdb",)), served(), disk(fua=False))))


def test_one_copy_of_two_with_checksums_loses_nothing() -> None:
    top = filesystem("btrfs", below=("sdb", "sdc"), level="raid1", metadata_level="raid1")
    assert RULE not in rules(verdict(target(top, served(), disk(fua=False), disk("sdc", fua=False))))


def test_forced_writes_are_told_and_not_the_syncs_that_are_flushed() -> None:
    stack = target(filesystem(below=("sdb",)), served(), disk(fua=False))
    forced = step("forced", flushes=0.0, rate=500.0, sync="none", open_flags=("direct", "dsync"))
    told = finding(verdict(stack, step(), forced), RULE).sentence
    assert "written with O_DIRECT and O_DSYNC (500 syncs a second), is acknowledged" in told
    assert "a second" not in finding(verdict(stack, step()), RULE).sentence
