"""What one account lacks, what exceeds the expected flushes, and what it shows."""

from typing import Any

from fstui.judge import Case
from fstui.judge.facts.account import FlushAccount, fewest_bytes, fewest_flushes
from fstui.storage.layers.flushes import Range
from tests.factories.evidence import busy, evidence
from tests.factories.steps import step, traced


def account(
    flushes: float = 1.0, share: float = 1.0, changes: dict[str, Any] | None = None, **fields: Any
) -> FlushAccount:
    seen = evidence(None, step(flushes=flushes, share=share, changes=changes), **fields)
    ((found,),) = Case(seen).flushes.synced_accounts
    return found


def test_trace_does_not_outweigh_counters_with_fewer_flushes() -> None:
    own = {"trace": (traced(us=2000, others=4000),)}
    noisy = {"idle": busy("sda", 900)}
    assert account(3.0, 2.0, changes=own, **noisy).trace_is_complete
    fewer, less = account(0.5, 2.0, changes=own, **noisy), account(3.0, 0.5, changes=own, **noisy)
    assert not (fewer.trace_is_complete or less.trace_is_complete)
    assert (fewer.arrival.trace, fewer.arrival.flushes) == (None, 1000)


def test_too_few_own_flushes_are_reported_with_possible_ones() -> None:
    few = account(3.0, 2.0, changes={"trace": (traced(us=100, kernel=300, others=5600),)})
    assert few.trace_lacks_flushes
    assert few.arrival.flushes == 400


def test_line_of_evidence() -> None:
    assert account(0.5).flush_line == "fdatasync: 1\xa0000 flushes for 2\xa0000 syncs at sda (0.50, 1 expected)"
    assert account(1.0, 0.5).byte_line == "fdatasync: 15.6 MiB at sda, 31.2 MiB expected (0.50)"
    none_expected = account()._replace(expected_bytes=Range(0, 1 << 30))
    assert none_expected.byte_line == "fdatasync: 31.2 MiB at sda"


def test_worst_account_has_the_fewest() -> None:
    some = [account(0.5, 0.9), account(0.2, 0.95)]
    assert fewest_flushes(some) is some[1] and fewest_bytes(some) is some[0]
