"""O_DSYNC that costs less than fdatasync."""

import pytest

from fstui.model.steps import Step
from fstui.model.storage import Target
from tests.factories.databases import database, with_figures
from tests.factories.evidence import busy, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, loop, on_disk, on_loop, readings

SYNC = step()
RULE = "odsync-cheaper"


def dsync(rate: float, flushes: float | None) -> Step:
    return step("O_DSYNC", rate=rate, flushes=flushes, open_flags=("dsync",), sync="none")


UNCOUNTED = on_disk(filesystem(), disk(counted=False))
"""As with iostats off."""


@pytest.mark.parametrize(
    ("where", "flushes", "expected", "words"),
    [
        (None, 0.0, "suspicious", "skips work for O_DSYNC"),
        (UNCOUNTED, None, None, "No layer counts flushes"),
        (None, 1.0, None, "the flag works"),
    ],
    ids=["without its flushes", "not counted", "with its flushes"],
)
def test_far_cheaper_is_suspicious_without_flushes(
    where: Target | None, flushes: float | None, expected: str | None, words: str
) -> None:
    found = finding(verdict(where, SYNC, dsync(9000, flushes)), RULE)
    assert found.verdict == expected and words in found.sentence
    assert flushes is None or found.evidence[1] == f"O_DSYNC: 9\xa0000/s, {flushes:.2f} flushes each"


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


FUA = on_disk(filesystem(), disk(fua=True))
FUA_WRITES = step("O_DIRECT+O_DSYNC", rate=9000, flushes=0.0, open_flags=("direct", "dsync"), sync="none")
FEW = step("O_DSYNC", rate=9000, ops=19, flushes=0.0, open_flags=("dsync",), sync="none")


@pytest.mark.parametrize(
    ("where", "done"),
    [(None, dsync(5000, 0.0)), (None, FEW), (FUA, FUA_WRITES)],
    ids=["little cheaper", "few writes", "FUA writes need no flush"],
)
def test_other_rates_are_not_reported(where: Target | None, done: Step) -> None:
    assert RULE not in rules(verdict(where, SYNC, done))
