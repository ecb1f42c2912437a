"""Data that dies with the instance."""

from __future__ import annotations

import pytest

from fstui.model.storage import Medium
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk


def test_ephemeral() -> None:
    local = disk(medium=Medium(class_="ssd", ephemeral=True, because="the model says an instance store of AWS"))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert found.verdict is None
    assert "As far as was measured, syncs are honest here" in found.sentence
    assert "still gone" in found.sentence
    assert "ephemeral" not in rules(verdict(on_disk(filesystem(), disk(medium=Medium(ephemeral=False)))))


@pytest.mark.parametrize("flushes", [None, 0])
def test_syncs_that_were_not_measured_or_did_not_arrive_are_not_called_honest(flushes: int | None) -> None:
    local = on_disk(filesystem(), disk(medium=Medium(class_="ssd", ephemeral=True)))
    found = finding(verdict(local, *([] if flushes is None else [step(flushes=flushes)])), "ephemeral")
    assert "An honest sync would survive a power cut there" in found.sentence


@pytest.mark.parametrize(("model", "words"), [
    ("Amazon EC2 NVMe Instance Storage", "AWS: a reboot keeps it; a stop, a hibernation"),
    ("nvme_card3", "Google: a reboot of the guest and a live migration keep it; a stop loses it"),
    ("Microsoft NVMe Direct Disk v2", "Azure: a reboot keeps it; a stop, a redeployment and maintenance may lose it"),
])  # fmt: skip
def test_what_its_provider_documents_of_a_reboot_and_a_stop_is_said(model: str, words: str) -> None:
    local = disk(model=model, medium=Medium(class_="ssd", ephemeral=True))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert words in found.sentence
    assert any(line.startswith("documented: ") for line in found.because)
