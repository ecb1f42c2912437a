"""An intent log that nobody reads again."""

from __future__ import annotations

import pytest

from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk

RULE = "zfs-log-ignored"


@pytest.mark.parametrize(("value", "said"), [("1", True), ("0", False)])
def test_the_parameter_decides(value: str, said: bool) -> None:
    dataset = filesystem("zfs", "/tank", sync="standard", zil_replay_disable=value)
    assert (RULE in rules(verdict(on_disk(dataset, disk())))) is said


def test_other_filesystems_have_no_such_log() -> None:
    assert RULE not in rules(verdict(on_disk(filesystem("xfs", zil_replay_disable="1"), disk())))


def test_the_syncs_that_would_be_lost_are_told() -> None:
    dataset = filesystem("zfs", "/tank", sync="standard", zil_replay_disable="1")
    told = finding(verdict(on_disk(dataset, disk()), step()), RULE).sentence
    assert told.endswith("loses what was synced last (2 000 syncs a second).")
