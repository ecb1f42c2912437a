"""A probe that was held up."""

from __future__ import annotations

import pytest

from fstui.model.storage import Target
from tests.factories.evidence import finding, verdict
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target


def test_disturbed() -> None:
    held = step(status="disturbed", changes={"held_ns": 50_000_000})
    found = finding(verdict(None, held, step("other")), "disturbed")
    assert found.steps == ("fdatasync",)
    assert "1 of 2 steps" in found.title


@pytest.mark.parametrize(("changed", "stack"), [
    ("mount:/srv: barrier barrier → nobarrier", on_disk(filesystem(barrier="barrier"))),
    ("mount:/srv: barrier nobarrier → barrier", on_disk(filesystem(barrier="nobarrier"))),
    ("sda: write cache write back → write through", on_disk(filesystem(), disk())),
    ("sda: write cache write through → write back",
     on_disk(filesystem(), disk(write_cache="write through", readings=readings(drive_cache="on")))),
    ("dm-0: stands on sda → zram0", target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())),
    ("bcache0: cache_mode writethrough → writeback", None),
    ("sda: iostats was written to", None),
])  # fmt: skip
@pytest.mark.parametrize("flushes", [0.2, 1])
def test_storage_that_changed_is_neither_accused_nor_durable(
    changed: str, stack: Target | None, flushes: float
) -> None:
    """The last row is a line that older run documents hold."""
    disturbed = step("other", flushes=flushes, status="disturbed", changes={"changed": (changed,)})
    judgement = verdict(stack, step(), disturbed)
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "high")
    found = finding(judgement, "disturbed")
    assert found.title == f"the storage changed in 1 of its steps: {changed}"
    assert found.steps == ("other",)
