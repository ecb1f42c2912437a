"""What NVMe drives report against themselves."""

from __future__ import annotations

from fstui.storage.claims import Answer, Claims
from fstui.storage.layers.devices.health import health_readings
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings


def test_failed_capacitor_outweighs_what_the_model_promises() -> None:
    drive = disk("nvme0n1", model="SAMSUNG MZQL21T9HCJR-00A07", link="nvme", readings=readings(critical_warning="16"))
    judged = verdict(on_disk(filesystem(below=("nvme0n1",)), drive), step())
    found = finding(judged, "drive-health")
    assert (judged.verdict, found.verdict, found.confidence) == ("suspicious", "suspicious", "low")
    assert "capacitor" in found.sentence


def test_worn_drive_is_a_note() -> None:
    worn = disk("nvme0n1", readings=readings(critical_warning="0", percent_used="104", media_errors="2"))
    found = finding(verdict(on_disk(None, worn), step()), "drive-health")
    assert found.verdict is None
    assert "nvme0n1: its rated endurance is used up and 2 media errors" in found.sentence


def test_healthy_drive_is_not_mentioned() -> None:
    healthy = readings(critical_warning="0", percent_used="99", media_errors="0", unsafe_shutdowns="500")
    assert "drive-health" not in rules(verdict(on_disk(None, disk(readings=healthy)), step()))


def test_answer_of_another_kind_is_no_reading() -> None:
    node = disk("nvme0n1", link="nvme")
    for output in ("[]", "{", '{"critical_warning": 1}'):
        asked: Claims = {"nvme smart-log /dev/nvme0 -o json": Answer(output=output)}
        assert health_readings(node, asked) == ()
