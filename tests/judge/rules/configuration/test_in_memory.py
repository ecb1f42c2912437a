"""Data that ends in memory, wherever it hides."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fstui.model.storage import Medium, Node, Target
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, on_loop, target

TMPFS = filesystem("tmpfs", below=("memory:tmpfs",))
MEMORY = Node(id="memory:tmpfs", layer="memory", kind="tmpfs", name="memory", lowest=True)
IN_TMPFS = Node(id="mount:/", layer="filesystem", kind="tmpfs", name="/", below=("memory:tmpfs",))


@pytest.mark.parametrize(
    "stack",
    [
        target(TMPFS, MEMORY),
        target(filesystem("ramfs", below=())),
        on_disk(filesystem(below=("zram0",)), disk("zram0", kind="zram", write_cache="write through", counted=False)),
        on_disk(filesystem(below=("ram0",)), disk("ram0", kind="ram", write_cache=None, counted=False)),
        target(*on_loop(IN_TMPFS).stack[:4], MEMORY),
        target(filesystem("overlay", below=("mount:/",)), IN_TMPFS, MEMORY),
        target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "zram0"), disk("zram0", kind="zram")),
        on_disk(filesystem(), disk(medium=Medium(class_="memory", declared=True))),
    ],
    ids=["tmpfs", "ramfs", "zram", "brd", "loop in tmpfs", "overlay on tmpfs", "dm on zram", "declared"],
)
def test_in_memory_wherever_it_hides(stack: Target) -> None:
    judgement = verdict(stack)
    assert rules(judgement) == {"in-memory"}
    found = finding(judgement, "in-memory")
    assert (found.verdict, found.confidence) == ("not-durable", "high")
    assert len(found.because) == 1


def test_a_disk_that_is_memory_by_its_model_is_named() -> None:
    stack = on_disk(filesystem(), disk(medium=Medium(class_="memory", because="the model says so")))
    assert finding(verdict(stack), "in-memory").title == "in memory (sda)"


def test_a_loop_in_memory_gets_its_flushes_and_is_still_not_durable() -> None:
    judgement = verdict(target(*on_loop(IN_TMPFS).stack[:4], MEMORY), step(device="loop0"))
    assert judgement.verdict == "not-durable"
    assert rules(judgement) == {"in-memory"}


def test_memory_that_is_declared_to_be_a_disk_is_not_said_to_be_declared_memory() -> None:
    medium = Medium(class_="hdd-7200", declared=True, because="declared by you: medium hdd-7200")
    found = finding(verdict(target(TMPFS, replace(MEMORY, medium=medium))), "in-memory")
    assert "declared" not in " ".join((found.title, *found.because))
