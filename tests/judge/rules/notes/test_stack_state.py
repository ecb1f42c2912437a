"""A stack in trouble."""

from __future__ import annotations

from fstui.model.storage import Reading
from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, target

DEGRADED = Reading(what="degraded", value="1", path="/sys/block/md0/md/degraded")
STACK = target(filesystem(below=("md0",)), block("md0", "md", "sda", state=(DEGRADED,)), disk())


def test_is_said_first_in_the_verdicts_sentence() -> None:
    judgement = verdict(STACK, step())
    assert judgement.sentence.startswith("The stack is in trouble (md0 degraded: 1)")
    assert "flushes each" in judgement.sentence


def test_is_a_note_with_the_path_it_was_read_from() -> None:
    found = finding(verdict(STACK), "stack-state")
    assert found.verdict is None
    assert found.because == ("md0 degraded: 1 (/sys/block/md0/md/degraded)",)


def test_comes_before_the_other_notes() -> None:
    judgement = verdict(STACK, step(), idle=busy("sda", 1))
    assert [found.rule for found in judgement.findings] == ["flushes-arrive", "stack-state", "other-writers"]


def test_a_sound_stack_has_none() -> None:
    assert "stack-state" not in rules(verdict(None, step()))
