"""Persistent memory: its platform's word, and no more."""

from __future__ import annotations

from typing import Any

import pytest

from fstui.model.host import Process
from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import GUEST, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target


def pmem(domain: str | None = "memory_controller", provider: str = "ACPI.NFIT", **changes: Any) -> Node:
    told = readings(provider=provider, **({"persistence_domain": domain} if domain else {}))
    given = {"kind": "pmem", "counted": False, "link": None, "medium": Medium(), "fua": True, "readings": told}
    return disk("pmem0", **{**given, **changes})


def on(device: Node, **options: str) -> Target:
    return on_disk(filesystem(below=("pmem0",), **options), device)


def seen(where: Target, **fields: Any) -> Any:
    return verdict(where, step(flushes=None, device="pmem0", rate=90_000, ops=9_000), **fields)


@pytest.mark.parametrize("options", [{}, {"dax": "always"}], ids=["by blocks", "DAX"])
def test_it_is_plausible_by_the_platforms_word(options: dict[str, str]) -> None:
    judgement = seen(on(pmem(), **options))
    assert (judgement.verdict, judgement.confidence) == ("plausible", "low")
    found = finding(judgement, "persistent-memory")
    assert "The platform states that what has reached the memory controller" in found.sentence
    assert "flush" not in found.sentence  # without DAX one is asked for, as the kernel's trace shows
    assert "pmem0 persistence_domain: memory_controller (/read/persistence_domain)" in found.because


def test_a_hypervisor_states_what_it_likes() -> None:
    assert "The hypervisor states" in finding(seen(on(pmem()), host=GUEST), "persistent-memory").sentence


@pytest.mark.parametrize("options", [{}, {"dax": "always"}], ids=["by blocks", "DAX"])
def test_without_that_word_it_cannot_tell_and_blames_no_kernel(options: dict[str, str]) -> None:
    silent = pmem(None, because="the platform does not say what outlives a power cut")
    judgement = seen(on(silent, **options))
    assert (judgement.verdict, rules(judgement) & {"persistent-memory"}) == ("cannot-tell", set())
    assert "the platform does not say" in judgement.sentence
    assert "5.5" not in judgement.sentence


def test_beside_a_disk_it_does_not_speak_for_both() -> None:
    stripe = block("dm-0", "dm-stripe", "pmem0", "sda")
    both = target(filesystem(below=("dm-0",)), stripe, pmem(), disk())
    judgement = verdict(both, step(flushes={"pmem0": None, "sda": 1}, share={"pmem0": None, "sda": 0.5}))
    assert "persistent-memory" not in rules(judgement)


def test_where_syncs_do_not_reach_it_that_is_the_finding() -> None:
    judgement = seen(on(pmem()), process=Process(pipe_fsync_fails=False))
    assert rules(judgement) == {"sync-stubbed"}


def test_before_a_run_it_is_silent() -> None:
    assert "persistent-memory" not in rules(verdict(on(pmem())))


@pytest.mark.parametrize(("provider", "word"), [("ACPI.NFIT", "plausible"), ("virtio-pmem", "not-durable")])
def test_barriers_that_are_off_lose_what_a_host_keeps_in_its_memory(provider: str, word: str) -> None:
    assert seen(on(pmem(None, provider), barrier="nobarrier")).verdict == word
