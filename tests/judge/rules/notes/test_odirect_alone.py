"""O_DIRECT without a sync."""

from __future__ import annotations

import pytest

from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, target


def test_o_direct_alone_is_not_durable_by_itself_on_any_disk() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(None, direct), "odirect-alone")
    assert (found.verdict, found.scope) == (None, "step")
    assert "20 000/s" in found.sentence


@pytest.mark.parametrize(
    "done",
    [
        step("O_DIRECT", ops=0, sync="none", open_flags=("direct",), flushes=None),
        step("O_DIRECT+O_DSYNC", sync="none", open_flags=("direct", "dsync")),
        step("write", sync="none", flushes=0),
    ],
    ids=["none was written", "synced", "buffered"],
)
def test_what_was_not_written_so_is_not_said_to_be(done: Step) -> None:
    assert "odirect-alone" not in rules(verdict(None, done))


def test_where_no_block_device_is_seen_it_is_nothing_new() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes={})
    assert "odirect-alone" not in rules(verdict(target(filesystem("overlay", "/", below=())), direct))
