"""What was switched while the run went on: to what loses data, or away from it, and whether for good."""

from __future__ import annotations

import pytest

from fstui.judge.facts.switches import Switches
from fstui.model.steps import Step
from tests.factories.steps import step

THROUGH = ("write through",)


def switches(*changes: str) -> Switches:
    """A step for each, with the write cache of sda as it was seen."""
    return Switches([seen(values) for values in changes])


def seen(values: str) -> Step:
    words = {"b": "write back", "t": "write through"}
    line = f"sda: write cache {' → '.join(words[value] for value in values)}"
    return step(changes={"changed": (line,) if values else ()})


@pytest.mark.parametrize(
    ("changes", "when"),
    [
        (("bt",), "since fdatasync"),
        (("btb",), "for a time in fdatasync"),
        (("tbtb",), "for a time in fdatasync"),
        (("bt", "btb", ""), "for a time in fdatasync"),
        (("bt", "bt"), "since fdatasync"),
    ],
)
def test_told_to_lose_data(changes: tuple[str, ...], when: str) -> None:
    found = switches(*changes).to("sda", "write cache", THROUGH)
    assert found is not None and found.when == when


@pytest.mark.parametrize("changes", [(), ("",), ("tb",), ("tb", "tb")])
def test_set_right_is_not_told_to_lose_data(changes: tuple[str, ...]) -> None:
    assert switches(*changes).to("sda", "write cache", THROUGH) is None


@pytest.mark.parametrize("told", ["not stated → write back", "write through → none at all"])
def test_what_loses_nothing_new_is_not_told_to_lose_data(told: str) -> None:
    losing = (*THROUGH, "none at all")
    done = step(changes={"changed": (f"sda: write cache {told}",)})
    assert Switches([done]).to("sda", "write cache", losing) is None


@pytest.mark.parametrize(
    ("changes", "times"), [(("btb",), 1), (("bt", "btb"), 1), (("btbtb",), 2), (("btb", "btb"), 2), (("tb", "tb"), 0)]
)
def test_how_many_times_it_was_taken_back(changes: tuple[str, ...], times: int) -> None:
    assert switches(*changes).taken_back("sda", "write cache", THROUGH) == times
