"""Which products the storage is fast enough for, by the thresholds that they publish."""

from typing import Any

import pytest
from msgspec.structs import replace

from fstui.judge.fitness import products
from fstui.model.host import Process
from fstui.model.judgement import Fit
from fstui.model.rate_limit import RateLimit
from fstui.model.run import ScenarioRef
from fstui.model.steps import Step
from fstui.model.storage import Node, Reading
from fstui.runs import scenarios
from tests.factories.evidence import HONEST_PROCESS, busy, verdict
from tests.factories.steps import latency, step
from tests.factories.storage import filesystem, target
from tests.judge.setups import DOCS

LOG: dict[str, Any] = {"block_bytes": 2300, "offsets": "sequential", "prefill": "fallocate", "flushes": 2}


def log(p99_ms: float = 2.0, rate: float = 900, **changes: Any) -> Step:
    sync = latency(1e6 * p99_ms / 4, p99_ns=1e6 * p99_ms)
    return step("log, 2300 B, fdatasync", rate=rate, changes={"sync_ns": sync}, **{**LOG, **changes})


def answers(*steps: Step, **changes: Any) -> dict[str, Fit]:
    return {fit.product: fit for fit in verdict(None, *steps, **changes).fit}


@pytest.mark.parametrize(
    ("p99_ms", "rate", "answer"),
    [
        (9.99, 500, "fits"),
        (10.0, 900, "does-not-fit"),
        (9.0, 499, "light-load"),
        (9.0, 50, "light-load"),
        (9.0, 49, "does-not-fit"),
    ],
)
def test_thresholds_of_etcd(p99_ms: float, rate: float, answer: str) -> None:
    etcd = answers(log(p99_ms, rate))["etcd"]
    assert (etcd.answer, etcd.required) == (answer, "p99 < 10 ms, 50/s, recommended 500/s")
    assert "etcd.io" in etcd.source


def test_step_without_a_rate_is_not_compared() -> None:
    """As in a damaged document."""
    assert answers(replace(log(), rate_per_s=0.0)) == {}


FEW = {"sync_ns": replace(latency(1e6, longest_ns=40e6), p99=None)}
ONE_PAUSE = {"sync_ns": latency(1e6, longest_ns=1.5e9)}


@pytest.mark.parametrize(
    ("done", "product", "answer", "measured"),
    [
        (log(25.0, 900), "etcd", "does-not-fit", "sync p99 25.0 ms (2.5 × the limit), 900/s"),
        (log(25.0, 25), "etcd", "does-not-fit", ", 25.0/s (2.0 × slower than required)"),
        (step(rate=60, ops=60, changes=FEW, **LOG), "etcd", "does-not-fit", "longest sync 40.0 ms (4.0 × the limit)"),
        (step(changes=ONE_PAUSE, **LOG), "ZooKeeper", "does-not-fit", ""),
        (log(), "ZooKeeper", "within-limit", ""),
        (replace(log(50.0, 900), cpu_wait_ns=10**9), "etcd", "not-known", ""),
    ],
    ids=["latency", "rate", "few syncs: the longest", "the longest counts", "within", "short of CPU"],
)
def test_says_how_far_beyond_the_limit(done: Step, product: str, answer: str, measured: str) -> None:
    fit = answers(done)[product]
    assert fit.answer == answer and measured in fit.measured


MS = 10**6


@pytest.mark.parametrize(
    ("cpu_wait_ms", "longest_ms", "answer"),
    [(0, 0, "does-not-fit"), (80, 25, "not-known"), (25, 25, "does-not-fit"), (80, 2, "does-not-fit")],
    ids=["no wait", "long waits", "one long wait explains no p99", "short waits explain no p99"],
)
def test_a_missed_p99_is_not_known_after_long_cpu_waits(cpu_wait_ms: int, longest_ms: int, answer: str) -> None:
    """In 900 syncs, nine take the p99 of 12.5 ms or longer. Waits of half that time add up to 56 ms."""
    waited = replace(log(12.5, 900), cpu_wait_ns=cpu_wait_ms * MS, longest_cpu_wait_ns=longest_ms * MS)
    assert answers(replace(waited, syncs=900, elapsed_s=1.2))["etcd"].answer == answer


STOPPED: dict[str, Any] = {"status": "stopped", "elapsed_s": 0.5}


@pytest.mark.parametrize("p99_ms", [2.0, 25.0])
def test_a_step_that_was_stopped_early_gives_no_answer(p99_ms: float) -> None:
    judgement = verdict(None, replace(log(p99_ms), **STOPPED))
    found = {fit.product: (fit.answer, fit.measured) for fit in judgement.fit}
    stopped = ("not-known", "the step was stopped after 0.5 s")
    assert found == {"etcd": stopped, "ZooKeeper": stopped}, "and no rate for MongoDB"
    assert "etcd" not in judgement.speed.title
    assert answers(replace(log(p99_ms), status="stopped", elapsed_s=60.0))["etcd"].answer != "not-known"


def test_numbers_for_programs() -> None:
    etcd = answers(log(2.0, 900))["etcd"]
    assert (etcd.rate_per_s, etcd.p99_ns) == (900, 2 * MS)
    assert answers(step(offsets="append", prefill="none", block_bytes=4096))["MySQL, MariaDB"].rate_per_s == 1000


def test_one_cpu_wait_may_explain_the_longest_sync() -> None:
    paused = step(changes=ONE_PAUSE, **LOG)
    waited = replace(paused, cpu_wait_ns=800 * MS, longest_cpu_wait_ns=800 * MS, elapsed_s=60.0)
    assert answers(waited)["ZooKeeper"].answer == "not-known"


@pytest.mark.parametrize(("total_ms", "is_named"), [(700, True), (200, False)])
def test_a_missed_p99_names_the_cpu_pressure(total_ms: int, is_named: bool) -> None:
    """The operations are short, so the pressure of the whole step counts, not that of its worst moment."""
    starved = replace(log(12.5, 900), latency_ns=latency(4 * MS), elapsed_s=1.0)
    starved = replace(starved, cpu_pressure_ns=total_ms * MS, longest_cpu_pressure_ns=120 * MS)
    etcd = answers(starved)["etcd"]
    assert etcd.answer == "does-not-fit"
    assert etcd.reasons == (("this host was short of CPU at the same time",) if is_named else ())


def test_a_missed_limit_names_the_load_by_other_processes() -> None:
    loaded = verdict(None, log(25.0, 900), idle=busy("sda", 2581, "dd"))
    cause = "other processes also wrote to this device (dd)"
    assert loaded.speed.title.endswith(f"; now too slow for etcd: {cause}")
    assert loaded.speed.sentence.endswith(f"Now too slow for etcd: {cause}.")
    (etcd, *_) = loaded.fit
    assert (etcd.answer, etcd.reasons, etcd.next[0][:13]) == ("does-not-fit", (cause,), "Measure again")


def test_now_needs_a_reason_for_every_product() -> None:
    starved = replace(log(12.5, 900), latency_ns=latency(4 * MS), elapsed_s=1.0, cpu_pressure_ns=900 * MS)
    fsync: dict[str, Any] = {
        "offsets": "append",
        "prefill": "none",
        "sync": "fsync",
        "changes": {"latency_ns": latency(10 * MS)},
    }
    append = step("append", rate=100, block_bytes=4096, **fsync)
    missed = verdict(None, starved, append)
    assert {fit.product: bool(fit.reasons) for fit in missed.fit if fit.answer == "does-not-fit"} == {
        "etcd": True,
        "Proxmox VE": False,
    }
    assert missed.speed.title.endswith("; too slow for etcd")
    assert "Too slow for etcd, Proxmox VE." in missed.speed.sentence


def test_a_remote_server_does_not_make_it_too_slow_now() -> None:
    filer = Node(id="remote:nfs4", layer="remote", kind="nfs4", name="filer:/vol1")
    slow = verdict(target(filesystem("nfs4", "/mnt", below=(filer.id,)), filer), log(25.0, 900))
    (etcd, *_) = slow.fit
    assert (etcd.answer, etcd.reasons) == ("does-not-fit", ())


LIMITED = replace(HONEST_PROCESS, io_limits=(Reading(what="8:0 wiops", value="20", path="/sys/fs/cgroup/x/io.max"),))
LIMIT = "an I/O limit of the cgroup applies"


def test_a_missed_limit_names_an_io_limit_first() -> None:
    limited = verdict(None, log(50.0, 18), process=LIMITED, idle=busy("sda", 397))
    (etcd, *_) = limited.fit
    assert etcd.answer == "does-not-fit" and etcd.reasons[0] == LIMIT
    assert etcd.evidence[0] == "I/O limit: 8:0 wiops 20 (/sys/fs/cgroup/x/io.max)"
    assert limited.speed.title.count(LIMIT) == 1 and "now too slow for etcd" in limited.speed.title


def test_a_met_limit_has_no_reasons() -> None:
    assert not any(fit.reasons for fit in verdict(None, log(), idle=busy("sda", 2581)).fit)


def test_a_little_load_by_others_is_not_named() -> None:
    assert verdict(None, log(25.0, 900), idle=busy("sda", 1)).speed.title.endswith("; too slow for etcd")


def test_without_a_threshold_the_rate_is_explained() -> None:
    overwrites = step(rate=1600, offsets="same", block_bytes=8192)
    assert answers(overwrites)["PostgreSQL"].measured == "1\xa0600/s"
    two_syncs = answers(overwrites)["Consul, Vault (BoltDB)"]
    assert (two_syncs.answer, two_syncs.measured) == ("no-threshold", "800/s")


@pytest.mark.parametrize(
    ("operation", "settings"),
    [
        ("log", {"block_bytes": 2300, "offsets": "sequential", "prefill": "fallocate"}),
        ("append", {"block_bytes": 4096, "offsets": "append", "prefill": "none"}),
        ("append-fsync", {"block_bytes": 4096, "offsets": "append", "prefill": "none", "sync": "fsync"}),
        ("overwrite", {"block_bytes": 8192, "offsets": "same"}),
        ("direct", {"block_bytes": 4096, "open_flags": ("direct",)}),
        (None, {"open_flags": ("direct", "dsync"), "sync": "none"}),
        (None, {"offsets": "sequential", "prefill": "fallocate", "sync": "fsync"}),
        (None, {"block_bytes": 8192, "offsets": "random"}),
        (None, {"block_bytes": 16384, "offsets": "same"}),
        (None, {"sync_every": 8}),
        (None, {"ops_per_s": 100.0}),
        (None, {"open_flags": ("direct",), "sync": "none"}),
    ],
)
def test_each_product_needs_its_own_operation(operation: str | None, settings: dict[str, Any]) -> None:
    expected = {product.name for product in products() if product.operation == operation}
    assert set(answers(step(**settings))) == expected


def test_no_answer_without_full_speed_and_real_syncs() -> None:
    assert not answers(log(), rate_limit=RateLimit(idle=True))
    assert not answers(log(), process=Process(pipe_fsync_fails=False))
    assert not answers(log(status="disturbed"))


def test_fit_never_changes_the_verdict() -> None:
    judgement = verdict(None, log(50.0, 20), scenario=ScenarioRef(name="fit", title=""))
    assert judgement.verdict == "consistent"


def test_speed_headline_names_a_product() -> None:
    enough, too_slow = verdict(None, log(2.0, 900)).speed, verdict(None, log(50.0, 900)).speed
    assert enough.title.endswith("; enough for etcd") and enough.sentence.endswith("Enough for etcd.")
    assert too_slow.title.endswith("; too slow for etcd") and too_slow.sentence.endswith("Too slow for etcd.")


def test_scenario_measures_every_operation() -> None:
    _, steps = scenarios.expand(scenarios.load("fit"), {})
    assert {product.operation for product in products()} == {"log", "append", "append-fsync", "overwrite", "direct"}
    assert len(steps) == 5 and sum(each.settings.seconds for each in steps) <= 8


@pytest.mark.parametrize("product", products(), ids=lambda product: product.name)
def test_every_product_has_a_source(product: Any) -> None:
    assert len(product.source) > 20 and product.does[0].islower()
    page = (DOCS / "fit.md").read_text()
    assert f"| {product.name} | {product.does} |" in page and f"| {product.source} |" in page
