"""A loop device whose file was deleted."""

from __future__ import annotations

import pytest

from fstui.model.storage import Node
from tests.factories.evidence import rules, verdict
from tests.factories.storage import block, disk, filesystem, readings, target

GONE, THERE = "/srv/a.img (deleted)", "/srv/a.img"


def loop(name: str, file: str, **more: str) -> Node:
    return block(name, "loop", readings=readings(backing_file=file, **more))


@pytest.mark.parametrize("file", [GONE, "/srv/#12 (deleted)"])
@pytest.mark.parametrize("links", [{}, {"links": "0"}], ids=["now", "saved by an earlier version"])
def test_a_deleted_file_is_neither_accused_nor_accepted(file: str, links: dict[str, str]) -> None:
    judgement = verdict(target(filesystem(below=("loop0",)), loop("loop0", file, **links)))
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "medium")
    assert "Unless a second hard link" in judgement.sentence


@pytest.mark.parametrize(("file", "more"), [(THERE, {}), (GONE, {"named": GONE})], ids=["there", "called so"])
def test_a_file_that_is_there_stays(file: str, more: dict[str, str]) -> None:
    assert "deleted-file" not in rules(verdict(target(filesystem(below=("loop0",)), loop("loop0", file, **more))))


def test_a_mirrors_other_leg_keeps_the_data() -> None:
    legs = (disk(), loop("loop0", GONE))
    mirror = block("md0", "md", "sda", "loop0", readings=readings(level="raid1"))
    assert "deleted-file" not in rules(verdict(target(filesystem(below=("md0",)), mirror, *legs)))
