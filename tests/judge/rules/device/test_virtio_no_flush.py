"""A host that offers no flush."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Host
from fstui.model.storage import Medium, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import own_time, step, timed, write
from tests.factories.storage import disk, filesystem, on_disk, readings


def virtio(flush: str = "no", config_wce: str = "no", **changes: Any) -> Target:
    told = readings(F_FLUSH=flush, CONFIG_WCE=config_wce)
    given = {"link": "virtio", "write_cache": "write through", "readings": told, **changes}
    return on_disk(filesystem(below=("vda",)), disk("vda", **given))


@pytest.mark.parametrize(
    ("us", "says"), [(18, "suspicious"), (59, "suspicious"), (60, "cannot-tell"), (2000, "cannot-tell")]
)
def test_a_write_that_is_too_fast_for_most_media_is_a_question_to_the_host(us: float, says: str) -> None:
    judgement = verdict(virtio(), write(us, device="vda"), host=GUEST)
    found = finding(judgement, "virtio-no-flush")
    assert (found.verdict, found.confidence, judgement.verdict) == (says, "low", says)
    assert ("or the host's memory alone" in found.sentence) is (us < 60)
    assert "vda F_FLUSH: no (/read/F_FLUSH)" in found.because


def test_in_a_named_cloud_a_fast_write_tells_no_offload_card_from_the_hosts_memory() -> None:
    """SPDK on a protected drive, an offload card: 16 KiB in 18 to 50 µs, and no flush is needed."""
    in_cloud = Host(virtualization="kvm", cloud="Alibaba Cloud")
    assert (
        finding(verdict(virtio(), write(30, device="vda"), host=in_cloud), "virtio-no-flush").verdict == "cannot-tell"
    )


@pytest.mark.parametrize("us", [28, 75])
def test_firecracker_offers_none_where_it_never_flushes(us: float) -> None:
    found = finding(
        verdict(virtio(), write(us, device="vda"), host=Host(virtualization="firecracker")), "virtio-no-flush"
    )
    assert (found.verdict, found.confidence) == ("suspicious", "medium")
    assert "its host's memory has the data" in found.sentence


def test_before_a_run_it_cannot_tell() -> None:
    found = finding(verdict(virtio(), host=GUEST), "virtio-no-flush")
    assert (found.verdict, found.confidence, found.steps) == ("cannot-tell", "low", ())


def test_a_host_that_could_have_offered_a_cache_is_plausible() -> None:
    found = finding(verdict(virtio("yes", "yes"), host=GUEST), "virtio-no-flush")
    assert (found.verdict, found.confidence) == ("plausible", "low")


@pytest.mark.parametrize(
    "where",
    [virtio("yes", "no"), virtio(write_cache="write back"), virtio(link="nvme"), virtio(readings=())],
    ids=["flush offered", "write back", "not virtio", "features not read"],
)
def test_anything_else_is_left_alone(where: Target) -> None:
    assert "virtio-no-flush" not in rules(verdict(where, write(20, device="vda"), host=GUEST))


def test_a_few_slow_writes_that_carry_the_time_are_not_called_fast() -> None:
    throttled = timed("O_DIRECT", 30, mean_us=2000, sync="none", open_flags=("direct",), flushes=0, device="vda")
    assert finding(verdict(virtio(), throttled, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"


def test_a_write_that_met_only_the_page_cache_is_no_time_of_the_disk() -> None:
    buffered = write(2, device="vda", share=0.0)
    assert finding(verdict(virtio(), buffered, host=GUEST), "virtio-no-flush").verdict == "cannot-tell"


def test_a_declared_platter_that_turns_slowly_enough_answers_for_itself() -> None:
    where = virtio(medium=Medium(class_="hdd-7200", declared=True))
    same = own_time(step("same", offsets="same", rate=118, ops=118, flushes=0, device="vda"), 8)
    judgement = verdict(where, same, host=GUEST)
    assert "virtio-no-flush" not in rules(judgement)
    assert judgement.verdict == "consistent"
