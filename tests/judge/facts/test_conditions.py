"""The conditions of the table of defects."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.judge import Case
from fstui.model.counters import DeviceCounters
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, target


@pytest.mark.parametrize(("commits", "found"), [(0, ["uncommitted"]), (50, ["uncommitted"]), (2_000, [])])
def test_an_intent_log_that_was_committed_is_no_defect(commits: int, found: list[str]) -> None:
    counted = step(changes={"counters": (DeviceCounters(device="mount:/tank", commits=commits),)})
    case = Case(evidence(target(filesystem("zfs", "/tank"), disk()), counted))
    assert [hit.outcome for _, hit in case.configuration.defects] == found


def test_a_journal_in_memory_is_said_to_lose_what_was_acknowledged() -> None:
    top = replace(filesystem(below=("sda", "ram0")), below_roles={"ram0": "journal"})
    ((_, hit),) = Case(evidence(target(top, disk(), block("ram0", "zram", lowest=True)))).configuration.defects
    assert (hit.outcome, hit.words["what"]) == ("lost", "The journal of ext4 /srv is")
