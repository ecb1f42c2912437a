from typing import Any

from msgspec.structs import replace

from fstui.fleet.outliers import groups, outlying_rates, ratio_to_peers, worse_verdicts
from fstui.fleet.results import HostResult, Rate, results_of
from fstui.measure.kinds.documents import decode_run
from fstui.report.formats.json import line
from tests.fleet.conftest import HONEST

RATES = (810, 790, 805, 820, 812, 799)


def host(node: str, per_s: float = 800.0, **more: Any) -> HostResult:
    given = {"layers": "ext4 › disk", "model": "SSD 1", "cache": "write back", "verdict": "consistent", **more}
    return HostResult(node=node, rates=(Rate(step="fdatasync", per_s=per_s, p99_ns=2_000_000),), **given)


def peers(**more: Any) -> list[HostResult]:
    facts = {"disk write cache": "write back", "ext4 barrier": "barrier"}
    return [host(f"db{at}", rate, facts=facts, **more) for at, rate in enumerate(RATES)]


def test_a_slow_host_is_named_with_its_settings() -> None:
    slow = host("db17", 325.0, facts={"disk write cache": "write through", "ext4 barrier": "barrier"})
    (outlier,) = outlying_rates([*peers(), slow])
    assert outlier.host == "db17"
    assert outlier.sentence.startswith("0.4 × the median of its group of 7 in fdatasync (325/s, median 805/s, MAD ")
    assert outlier.sentence.endswith(": its disk write cache is off (peers: on)")


def test_a_fast_host_is_an_outlier_too() -> None:
    fast = host("db17", 8000.0, facts={**peers()[0].facts, "disk serial": "x17"})
    others = [host(one.node, one.rates[0].per_s, facts={**one.facts, "disk serial": one.node}) for one in peers()]
    (outlier,) = outlying_rates([*others, fast])
    assert outlier.sentence.endswith("; fstui found no setting that explains it")


def test_a_small_difference_is_no_outlier() -> None:
    assert outlying_rates([*(host(f"db{at}") for at in range(20)), host("db20", 780.0)]) == []


def test_too_few_have_no_distribution() -> None:
    assert outlying_rates([*peers()[:3], host("db17", 80.0)]) == []


def test_hosts_with_other_models_are_no_peers() -> None:
    assert outlying_rates([*peers(), host("db17", 80.0, model="HDD")]) == []


def test_a_note_that_peers_lack_is_a_reason() -> None:
    slow = host("db17", 300.0, facts=peers()[0].facts, notes={"stack-state": "md0 is resyncing"})
    (outlier,) = outlying_rates([*peers(), slow])
    assert outlier.sentence.endswith(": md0 is resyncing")


def test_a_worse_verdict_than_its_peers_is_named() -> None:
    liar = host(
        "db9", verdict="not-durable", confidence="high", sentence="Nothing is flushed.", facts={"ext4 barrier": "no"}
    )
    (worse,) = worse_verdicts([*peers(), liar])
    assert worse.sentence == (
        "not-durable (high), the median of its group of 7 is consistent: Nothing is flushed. It has no disk write "
        "cache (peers: write back); its ext4 barrier is no (peers: barrier)."
    )


def test_a_host_without_peers_is_compared_with_all() -> None:
    alone = host("db9", verdict="suspicious", layers="xfs › disk")
    assert [outlier.host for outlier in worse_verdicts([*peers(), alone])] == ["db9"]
    assert worse_verdicts([alone]) == []


def test_peers_may_have_different_kernels() -> None:
    ((found, _),) = groups([*peers(), host("db9", kernel="6.1.0")])
    assert len(found.hosts) == 7 and found.kernel == "6.1.0"
    (spread,) = found.steps
    assert (spread.least, spread.median, spread.most) == (790, 805, 820)


def two_steps(node: str, first: float, other: float) -> HostResult:
    return replace(host(node), rates=(Rate(step="fsync", per_s=first), Rate(step="O_DSYNC", per_s=other)))


def test_the_sentence_is_about_the_step_that_is_furthest_off() -> None:
    all_ = [*(two_steps(one.node, one.rates[0].per_s, 100.0) for one in peers()), two_steps("db17", 1600.0, 13_000.0)]
    (outlier,) = outlying_rates(all_)
    assert outlier.sentence.startswith("130 × the median of its group of 7 in O_DSYNC")
    assert ratio_to_peers(all_)["db17", "", "O_DSYNC"] == outlier.ratio == 130.0


def test_a_host_that_drops_syncs_is_not_faster_and_no_measure() -> None:
    liars = [host(f"liar{at}", 60_000.0, verdict="not-durable") for at in range(5)]
    assert outlying_rates([*peers(), *liars]) == []
    ((group, _),) = groups([*peers(), *liars])
    assert group.steps[0].median == 807.5
    assert ratio_to_peers([*peers(), *liars]).keys() == {(one.node, "", "fdatasync") for one in peers()}


def test_a_user_and_root_have_the_same_peers() -> None:
    run = decode_run(HONEST)
    seen = [replace(run, host=replace(run.host, virtualization=name)) for name in ("kvm", "firecracker", None)]
    ((group, _),) = groups([one for at, each in enumerate(seen) for one in results_of(f"db{at}", "run", line(each))])
    assert len(group.hosts) == 3
