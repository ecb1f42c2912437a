"""Filesystems of which little is known: that is enough to accuse what sends nothing, and nobody else."""

from __future__ import annotations

import pytest

from fstui.model.storage import Target
from tests.factories.box import Box
from tests.factories.evidence import rules, verdict
from tests.factories.looking import look, trouble
from tests.factories.steps import step
from tests.factories.storage import filesystem, on_disk

ONE = ("nilfs2", "vfat", "exfat", "reiserfs", "udf", "ntfs3")


def of(kind: str) -> Target:
    return on_disk(filesystem(kind))


@pytest.mark.parametrize("kind", ONE)
def test_those_that_flush_once_owe_one_at_the_least(kind: str) -> None:
    assert "flushes-missing" in rules(verdict(of(kind), step(flushes=0.5)))
    assert not rules(verdict(of(kind), step(flushes=2.0))) & {"flushes-missing", "other-writers"}


@pytest.mark.parametrize("kind", ["jfs", "gfs2", "ocfs2"])
def test_of_any_other_only_none_at_all_is_too_few(kind: str) -> None:
    assert "flushes-missing" in rules(verdict(of(kind), step(flushes=0)))
    assert "flushes-missing" not in rules(verdict(of(kind), step(flushes=0.3)))


@pytest.mark.parametrize(("kind", "accused"), [("vfat", True), ("jfs", True), ("ntfs3", False), ("newfs", False)])
def test_bytes_are_missed_where_it_is_known_that_none_are_compressed(kind: str, accused: bool) -> None:
    assert ("bytes-missing" in rules(verdict(of(kind), step(share=0.1)))) is accused


@pytest.mark.parametrize(("kind", "said"), [("iso9660", []), ("vfat", [("forced read-only", "mounted rw, now ro")])])
def test_what_is_read_only_by_nature_is_in_no_trouble(box: Box, kind: str, said: list[tuple[str, str]]) -> None:
    box.disk("sr0")
    box.mount("/dev/sr0", "/srv", kind, options="rw", super_options="ro")
    assert trouble(look(box).stack[0]) == said


def test_one_that_needs_no_device_holds_files_all_the_same(box: Box) -> None:
    box.write("/proc/filesystems", "nodev\taufs\nnodev\tstrange")
    box.mount("none", "/aufs", "aufs")
    box.mount("none", "/strange", "strange")
    assert (look(box, "/aufs").pseudo, look(box, "/strange").pseudo) == (False, True)
