"""Storage whose data is removed with an instance."""

import pytest

from fstui.model.storage import Medium
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk


def test_ephemeral_disk_is_a_note() -> None:
    local = disk(medium=Medium(class_="ssd", ephemeral=True, reason="the model identifies an instance store of AWS"))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert found.verdict is None
    assert "However durable its syncs are, its data is lost" in found.sentence
    assert "is lost when the instance stops" in found.sentence
    assert "ephemeral" not in rules(verdict(on_disk(filesystem(), disk(medium=Medium(ephemeral=False)))))


@pytest.mark.parametrize(("model", "words"), [
    ("Amazon EC2 NVMe Instance Storage", "AWS: a reboot keeps it; a stop, a hibernation"),
    ("nvme_card3", "Google: a reboot of the guest and a live migration keep it; a stop loses it"),
    ("Microsoft NVMe Direct Disk v2", "Azure: a reboot keeps it; a stop, a redeployment and maintenance may lose it"),
])  # fmt: skip
def test_documents_about_reboot_and_stop_are_quoted(model: str, words: str) -> None:
    local = disk(model=model, medium=Medium(class_="ssd", ephemeral=True))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert words in found.sentence
    assert any(line.startswith("documented: ") for line in found.evidence)
