"""Which steps a rule can use."""

from typing import Any

import pytest

from fstui.judge import Case
from fstui.judge.facts.steps import Steps
from fstui.model.steps import Step
from tests.factories.evidence import evidence
from tests.factories.steps import step


def steps(*measured: Step) -> Steps:
    return Case(evidence(None, *measured)).steps


@pytest.mark.parametrize(
    ("changes", "measured", "synced"),
    [
        ({}, True, True),
        ({"status": "stopped"}, True, True),
        ({"status": "disturbed"}, True, True),
        ({"ops": 19}, True, False),
        ({"ops": 20}, True, True),
        ({"sync": "none"}, True, False),
        ({"open_flags": ("dsync",)}, True, False),
        ({"status": "failed"}, False, False),
        ({"status": "skipped"}, False, False),
        ({"writers": 2}, False, False),
        ({"sync_every": 100}, True, True),
        ({"sync_every": 101}, True, False),
    ],
    ids=str,
)
def test_measured_and_synced_steps(changes: dict[str, Any], measured: bool, synced: bool) -> None:
    found = steps(step(**changes))
    assert (bool(found.measured), bool(found.synced)) == (measured, synced)


@pytest.mark.parametrize(
    ("settings", "call", "syncs", "fua"),
    [
        ({}, "fdatasync", 2000, False),
        ({"sync": "fsync"}, "fsync", 2000, False),
        ({"sync": "none", "open_flags": ("dsync",)}, "O_DSYNC", 2000, False),
        ({"sync": "none", "open_flags": ("sync",)}, "O_SYNC", 2000, False),
        ({"sync": "none", "open_flags": ("direct", "dsync")}, "O_DSYNC", 2000, True),
        ({"open_flags": ("direct",)}, "fdatasync", 2000, False),
        ({"sync_every": 10}, "fdatasync", 200, False),
        ({"sync": "none"}, None, 0, False),
    ],
    ids=str,
)
def test_sync_call_of_a_step(settings: dict[str, Any], call: str | None, syncs: int, fua: bool) -> None:
    (done,) = steps(step(**settings)).measured
    assert (done.sync_method, done.syncs, done.writes_fua) == (call, syncs, fua)


def test_equal_step_of_another_run_is_not_found() -> None:
    assert steps(step(), step(sync="none")).as_write_step(step()) is None  # equal, but not the same step
    own = step()
    found = steps(own).as_write_step(own)
    assert found is not None and found.step is own
