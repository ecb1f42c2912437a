"""A client that keeps syncs to itself."""

from __future__ import annotations

import pytest

from fstui.judge import explain
from fstui.model.storage import Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, target

RULE = "syncs-not-sent"


def served(kind: str, **facts: str) -> Target:
    server = Node(id="remote://nas/x", layer="remote", kind=kind, name="//nas/x", lowest=True)
    return target(filesystem(kind, below=(server.id,), **facts), server)


def test_nostrictsync_asks_for_no_flush() -> None:
    judgement = verdict(served("cifs", strict_sync="no"), step())
    assert judgement.verdict == "not-durable"
    told = finding(judgement, RULE).sentence
    assert "nostrictsync" in told
    assert told.endswith("known to be on a disk (2 000 syncs a second).")


@pytest.mark.parametrize("kind", ["cifs", "nfs4", "fuse.sshfs"])
def test_without_the_option_nothing_is_known(kind: str) -> None:
    judgement = verdict(served(kind))
    assert RULE not in rules(judgement)
    assert judgement.verdict == "cannot-tell"


@pytest.mark.parametrize("option", [
    "nostrictsync", "partial parity log",
])  # fmt: skip
def test_its_page_names_every_option_by_which_syncs_are_kept_back(option: str) -> None:
    assert option in explain(RULE)
