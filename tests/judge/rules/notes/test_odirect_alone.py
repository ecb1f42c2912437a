"""O_DIRECT without a sync."""

from __future__ import annotations

from tests.factories.evidence import finding, verdict
from tests.factories.steps import step


def test_o_direct_alone_is_not_durable_by_itself_on_any_disk() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(None, direct), "odirect-alone")
    assert (found.verdict, found.scope) == (None, "step")
    assert "20 000/s" in found.sentence
