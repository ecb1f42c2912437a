"""Slow is no lie: it has a cause."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.judge.references import published
from fstui.model.host import Process
from fstui.model.rate_limit import UNLIMITED, RateLimit
from fstui.model.storage import Medium, Reading, Target
from tests.factories.evidence import HONEST_PROCESS, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk

SLOWEST = published("fdatasync", ["ssd"])[0].per_s


def ssd(**changes: Any) -> Target:
    return on_disk(filesystem(), disk(medium=Medium(**{"class_": "ssd", "write_cache": "volatile", **changes})))


@pytest.mark.parametrize(("times", "hit"), [(0.49, True), (0.51, False)])
def test_less_than_half_of_the_slowest_published_is_a_note(times: float, hit: bool) -> None:
    judgement = verdict(ssd(), step(rate=times * SLOWEST))
    assert ("slower-than-class" in rules(judgement)) is hit
    assert judgement.verdict == "consistent"
    if hit:
        found = finding(judgement, "slower-than-class")
        assert found.verdict is None
        assert "Slow is no lie" in found.sentence


@pytest.mark.parametrize("barrier", ["barrier", "nobarrier"])
@pytest.mark.parametrize("rate_limit", [UNLIMITED, RateLimit(bytes_per_s=1 << 20)], ids=["free", "held back"])
def test_a_pace_of_fstuis_own_and_syncs_that_are_worth_nothing_are_held_against_nobody(
    barrier: str, rate_limit: RateLimit
) -> None:
    where = on_disk(filesystem(barrier=barrier), *ssd().lowest)
    said = "slower-than-class" in rules(verdict(where, step(rate=50), rate_limit=rate_limit))
    assert said is (barrier == "barrier" and not rate_limit)


def test_limits_of_the_cgroup_are_named() -> None:
    limit = Reading(what="8:0 wiops", value="100", path="/sys/fs/cgroup/x/io.max")
    limited = Process(
        **{name: getattr(HONEST_PROCESS, name) for name in HONEST_PROCESS.__struct_fields__} | {"io_limits": (limit,)}
    )
    found = finding(verdict(ssd(), step(rate=50), process=limited), "slower-than-class")
    assert "io limit: 8:0 wiops 100 (/sys/fs/cgroup/x/io.max)" in found.because


@pytest.mark.parametrize(
    "class_", ["unknown", "network", "hdd-15000"], ids=["not known", "too few published", "none published"]
)
def test_a_class_that_few_have_measured_has_no_floor(class_: str) -> None:
    assert "slower-than-class" not in rules(verdict(ssd(class_=class_), step(rate=2, ops=20)))


@pytest.mark.parametrize(
    "changes",
    [{"ops_per_s": 5.0}, {"sync_every": 10}, {"offsets": "append"}, {"writers": 4}, {"status": "disturbed"}],
    ids=["paced", "every 10", "a log", "four writers", "disturbed"],
)
def test_a_step_of_another_kind_is_not_compared(changes: dict[str, Any]) -> None:
    assert "slower-than-class" not in rules(verdict(ssd(), step(rate=50, **changes)))
