"""O_DSYNC that costs less than fdatasync."""

import pytest

from fstui.model.steps import Step
from fstui.model.storage import Node, Target
from tests.factories.databases import database, with_figures
from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop, readings

SYNC = step()
RULE = "odsync-cheaper"


def dsync(rate: float, flushes: float | None) -> Step:
    return step("O_DSYNC", rate=rate, flushes=flushes, open_flags=("dsync",), sync="none")


def test_far_cheaper_without_its_flushes_is_suspicious() -> None:
    found = finding(verdict(None, SYNC, dsync(9000, 0.0)), RULE)
    assert found.verdict == "suspicious" and "does less for the flag" in found.sentence
    assert found.because[1] == "O_DSYNC: 9\xa0000/s, 0.00 flushes each"


def test_far_cheaper_without_counters_is_a_note() -> None:
    found = finding(verdict(uncounted(), SYNC, dsync(9000, None)), RULE)
    assert found.verdict is None and "No layer counts flushes" in found.sentence


def test_far_cheaper_with_its_flushes_is_a_note() -> None:
    found = finding(verdict(None, SYNC, dsync(9000, 1.0)), RULE)
    assert found.verdict is None and "the flag works" in found.sentence


@pytest.mark.parametrize("noise", ["writers", "waited for a CPU", "crowded"])
def test_a_difference_is_not_reported_next_to_others(noise: str) -> None:
    crowded = database("oltp_insert", 9.0, 5, durable=True, cpu_share=0.2)
    crowded = with_figures(crowded, host_cpu_share=0.97, others_cpu_share=0.8)
    waited_ns = 3_000_000_000 if noise == "waited for a CPU" else None
    slow = step(rate=204, changes={"cpu_wait_ns": waited_ns})
    steps = (slow, *([crowded] if noise == "crowded" else []))
    idle = busy("sda", 30) if noise == "writers" else None
    assert RULE not in rules(verdict(None, *steps, dsync(797, 1.0), idle=idle))
    assert finding(verdict(None, *steps, dsync(797, 0.0), idle=idle), RULE).verdict == "suspicious"


def test_little_cheaper_is_not_reported() -> None:
    assert RULE not in rules(verdict(None, SYNC, dsync(5000, 0.0)))


@pytest.mark.parametrize(
    "where",
    [
        on_disk(filesystem(), disk(write_cache="write through")),
        on_disk(filesystem("newfs"), disk(link="fc", readings=readings(grade="array"))),
        on_loop(device=loop(counted=False), below=disk(write_cache="write through")),
    ],
    ids=["write through", "expected flushes not known", "expected flushes not counted"],
)
def test_far_cheaper_without_expected_flushes_is_a_note(where: Target) -> None:
    flushes = {"loop0": None, "sda": 0.0}
    found = finding(verdict(where, step(flushes=flushes), dsync(9000, 0.0)), RULE)
    assert found.verdict is None


def test_few_writes_are_not_compared() -> None:
    few = step("O_DSYNC", rate=9000, ops=19, flushes=0.0, open_flags=("dsync",), sync="none")
    assert RULE not in rules(verdict(None, SYNC, few))


def test_o_direct_may_be_a_single_fua_write() -> None:
    forced = step("O_DIRECT+O_DSYNC", rate=9000, flushes=0.0, open_flags=("direct", "dsync"), sync="none")
    assert RULE not in rules(verdict(on_disk(filesystem(), disk(fua=True)), SYNC, forced))


def uncounted() -> Target:
    """A disk with iostats off."""
    device: Node = disk(counted=False)
    return on_disk(filesystem(), device)
