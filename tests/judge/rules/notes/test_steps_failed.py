"""Steps that did not get to their end."""

from __future__ import annotations

import errno

import pytest

from fstui.model.steps import Failure, Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step


def failed(name: str, call: str = "chdir", number: int = errno.ENOENT) -> Step:
    error = Failure(call=call, errno=number, message="somebody moved or removed it: '/srv/.fstui-1'")
    return step(name, ops=0, status="failed", changes={"error": error})


def test_the_others_are_judged_and_that_some_failed_is_said_first() -> None:
    judgement = verdict(None, step(), failed("fsync"), failed("O_DIRECT"))
    assert judgement.verdict == "consistent"
    assert judgement.sentence.startswith(
        "2 of 3 steps failed, the first (fsync) with chdir: somebody moved or removed it: '/srv/.fstui-1': what "
        "follows is of the others alone. "
    )
    found = finding(judgement, "steps-failed")
    assert (found.verdict, found.steps, len(found.because)) == (None, ("fsync", "O_DIRECT"), 2)


def test_each_counts_where_several_have_one_name() -> None:
    """A comparison repeats its steps."""
    found = finding(verdict(None, step(), failed("fsync"), failed("fsync")), "steps-failed")
    assert found.title == "2 of 3 steps failed, the first in chdir"
    assert len(found.because) == 2


@pytest.mark.parametrize("steps", [
    (step(),), (failed("fsync"),), (step(), failed("fsync", "fdatasync")), (step(), failed("fsync", "pwrite")),
    (step(), failed("O_DIRECT", "open", errno.EINVAL)),
], ids=["none", "all", "a sync, which has words of its own", "a write", "not to be had here"])  # fmt: skip
def test_otherwise_nothing_is_said(steps: tuple[Step, ...]) -> None:
    assert "steps-failed" not in rules(verdict(None, *steps))
