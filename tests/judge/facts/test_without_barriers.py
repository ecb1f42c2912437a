"""Filesystems that send no flushes, and the caches beneath them."""

from __future__ import annotations

from fstui.judge import Case
from tests.factories.evidence import evidence
from tests.factories.storage import filesystem, on_loop


def test_the_caches_are_those_that_end_a_level() -> None:
    on_a_loop = on_loop(filesystem(name="/", barrier="nobarrier"))
    ((_, hit),) = Case(evidence(on_a_loop)).configuration.defects
    assert (hit.outcome, hit.words["on"], hit.words["off"]) == ("volatile_cache", "sda", "")
