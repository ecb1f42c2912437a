"""Several writers that share a revolution of the disk are not reported."""

from tests.factories.evidence import verdict
from tests.factories.steps import step
from tests.judge.rules.rotation.platters import SPINNING, same_block


def test_group_commit_next_to_a_single_writer() -> None:
    many = step("16 writers", offsets="same", rate=1500, writers=16, flushes=0.1, share=0.51)
    judgement = verdict(SPINNING, same_block(118), many)
    assert judgement.verdict == "consistent"
    assert not any("16 writers" in found.steps for found in judgement.findings)
