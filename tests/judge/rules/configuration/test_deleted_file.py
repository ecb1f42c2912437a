"""A loop device whose file was deleted."""

from __future__ import annotations

import pytest

from fstui.model.storage import Node
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, readings, target

GONE, THERE = "/srv/a.img (deleted)", "/srv/a.img"


def loop(name: str, file: str, **more: str) -> Node:
    return block(name, "loop", readings=readings(backing_file=file, **more))


@pytest.mark.parametrize("file", [GONE, "/srv/#12 (deleted)"])
def test_what_is_on_a_file_that_nothing_leads_to_is_gone_after_a_reboot(file: str) -> None:
    judgement = verdict(target(filesystem(below=("loop0",)), loop("loop0", file, links="0")))
    assert (judgement.verdict, judgement.confidence) == ("not-durable", "high")
    assert "The file under loop0 was deleted" in judgement.sentence
    assert "loop0 links: 0 (/read/links)" in judgement.findings[0].because


def test_where_nobody_counted_its_links_it_is_neither_accused_nor_praised() -> None:
    judgement = verdict(target(filesystem(below=("loop0",)), loop("loop0", GONE)))
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "medium")
    assert "Unless a second hard link" in judgement.sentence


@pytest.mark.parametrize("file", [GONE, "/srv/#12 (deleted)"])
def test_a_second_hard_link_keeps_the_file(file: str) -> None:
    kept = loop("loop0", file, links="1")
    assert "deleted-file" not in rules(verdict(target(filesystem(below=("loop0",)), kept)))


def test_a_file_that_is_there_stays() -> None:
    assert "deleted-file" not in rules(verdict(target(filesystem(below=("loop0",)), loop("loop0", THERE))))


def test_a_mirrors_other_leg_keeps_the_data() -> None:
    legs = (disk(), loop("loop0", GONE, links="0"))
    mirror = block("md0", "md", "sda", "loop0", readings=readings(level="raid1"))
    assert "deleted-file" not in rules(verdict(target(filesystem(below=("md0",)), mirror, *legs)))


def test_the_syncs_that_were_worth_nothing_are_told() -> None:
    gone = target(filesystem(below=("loop0",)), loop("loop0", GONE, links="0"))
    told = finding(verdict(gone, step(device="loop0")), "deleted-file").sentence
    assert told.endswith("synced or not (2 000 syncs a second).")
