"""O_DIRECT without a sync."""

import pytest

from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, target


def test_o_direct_alone_is_not_durable() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(None, direct), "odirect-alone")
    assert (found.verdict, found.scope) == (None, "step")
    assert "20\xa0000/s" in found.sentence


@pytest.mark.parametrize(
    "done",
    [
        step("O_DIRECT", ops=0, sync="none", open_flags=("direct",), flushes=None),
        step("O_DIRECT+O_DSYNC", sync="none", open_flags=("direct", "dsync")),
        step("write", sync="none", flushes=0),
    ],
    ids=["none was written", "synced", "buffered"],
)
def test_synced_or_buffered_step_is_not_o_direct_alone(done: Step) -> None:
    assert "odirect-alone" not in rules(verdict(None, done))


def test_o_direct_note_needs_a_visible_device() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes={})
    assert "odirect-alone" not in rules(verdict(target(filesystem("overlay", "/", below=())), direct))
