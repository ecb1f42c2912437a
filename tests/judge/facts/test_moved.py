"""What came to stand on other devices while the run went on."""

from __future__ import annotations

import pytest

from fstui.judge.facts.moved import came, ended_on, is_elsewhere, to_memory
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.switches import Switches
from fstui.model.run import Evidence
from fstui.model.steps import Step
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, target

VOLUME = block("dm-0", "dm-linear", "dm-1")
STACK = Stack(target(filesystem(below=("dm-0",)), VOLUME, block("dm-1", "dm-crypt", "sda"), disk()))


def steps(*stands_on: str) -> tuple[Step, ...]:
    return tuple(
        step(name=f"{at}", changes={"changed": (f"dm-1: stands on {value}",)}) for at, value in enumerate(stands_on)
    )


@pytest.mark.parametrize(("stands_on", "elsewhere"), [
    ("sda → sdb", True), ("sda → dm-2 → sda", True), ("sda → sda sdb", False), ("sda sdb → sdb", False),
])  # fmt: skip
def test_a_layer_above_is_elsewhere_as_well(stands_on: str, elsewhere: bool) -> None:
    assert is_elsewhere(STACK, steps(stands_on), VOLUME) is elsewhere


def test_what_stayed_is_where_it_was() -> None:
    assert not is_elsewhere(STACK, (step(),), VOLUME)


def test_without_a_stack_that_was_known_before_nothing_came() -> None:
    later = step(changes={"stack": STACK.nodes})
    assert ended_on(Evidence(steps=(later,))) is None


def test_a_layer_came_in_the_step_at_whose_end_it_was_seen_first() -> None:
    ran = [step("first"), step("second", changes={"stack": STACK.nodes}), step("third", changes={"stack": STACK.nodes})]
    assert came(ran, VOLUME).name == "second"


@pytest.mark.parametrize(("later", "devices"), [
    (("sda → ram1",), [("ram1",)]), (("sda → nullb0 zram12",), [("nullb0", "zram12")]), (("sda → ramdisk",), []),
    (("sda → zram0", "sda → zram0 → sdb"), []), (("sda → sdb", "sda → sdb → zram0"), [("zram0",)]),
])  # fmt: skip
def test_it_is_in_memory_by_the_names_it_ended_on(later: tuple[str, ...], devices: list[tuple[str, ...]]) -> None:
    found = to_memory(STACK, Switches(steps(*later)), steps(*later))
    assert [moved.devices for moved in found] == devices
