"""What drives report against themselves."""

import json

import pytest

from fstui.model.host import Inventory
from fstui.runs.rules import JudgementCache
from fstui.storage.layers.devices.health import health_readings
from fstui.storage.tool_output import ToolOutput, ToolOutputs
from tests.factories.evidence import HONEST_PROCESS, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings


def test_failed_capacitor_outweighs_what_the_model_promises() -> None:
    drive = disk("nvme0n1", model="SAMSUNG MZQL21T9HCJR-00A07", link="nvme", readings=readings(critical_warning="16"))
    judged = verdict(on_disk(filesystem(below=("nvme0n1",)), drive), step())
    found = finding(judged, "drive-health")
    assert (judged.verdict, found.verdict, found.confidence) == ("suspicious", "suspicious", "low")
    assert "capacitor" in found.sentence
    sata = disk(readings=readings(smart_status="passed", backup="failed"))
    assert finding(verdict(on_disk(None, sata), step()), "drive-health").verdict == "suspicious"


def test_worn_drive_is_a_note() -> None:
    worn = disk("nvme0n1", readings=readings(critical_warning="0", percent_used="104", media_errors="2"))
    found = finding(verdict(on_disk(None, worn), step()), "drive-health")
    assert found.verdict is None
    assert "nvme0n1: its rated endurance is used up and 2 media errors" in found.sentence


SATA = {
    "smart_status": {"passed": True},
    "endurance_used": {"current_percent": 3},
    "ata_smart_attributes": {
        "table": [
            {
                "id": 5,
                "name": "Reallocated_Sector_Ct",
                "when_failed": "",
                "raw": {"value": 12 << 16, "string": "12 (0 5)"},
            },
            {"id": 174, "name": "Unexpect_Power_Loss_Ct", "when_failed": "", "raw": {"value": 40, "string": "40"}},
            {"id": 175, "name": "Power_Loss_Cap_Test", "when_failed": "", "raw": {"value": 630, "string": "630"}},
            {"id": 197, "name": "Current_Pending_Sector", "when_failed": "", "raw": {"value": 0, "string": "0"}},
        ]
    },
}
SAS = {
    "smart_status": {"passed": False},
    "scsi_grown_defect_list": 7,
    "scsi_percentage_used_endurance_indicator": 101,
    "scsi_error_counter_log": {
        "read": {"total_uncorrected_errors": 2}, "write": {"total_uncorrected_errors": 1},
    },
}  # fmt: skip


def asked(found: object) -> dict[str, str]:
    """Return the readings of sda if smartctl printed this."""
    tool_outputs: ToolOutputs = {"smartctl -n standby --json=c -a /dev/sda": ToolOutput(output=json.dumps(found))}
    return {reading.what: reading.value for reading in health_readings(disk(), tool_outputs)}


def test_sata_drive_reports_its_attributes_by_name() -> None:
    assert asked(SATA) == {
        "smart_status": "passed", "percent_used": "3", "unsafe_shutdowns": "40", "backup": "good",
        "pending_sectors": "0", "reallocated_sectors": "12",
    }  # fmt: skip


def test_sas_drive_reports_its_logs() -> None:
    assert asked(SAS) == {
        "smart_status": "failed", "percent_used": "101", "media_errors": "3", "grown_defects": "7",
    }  # fmt: skip


@pytest.mark.parametrize(
    "found", [[], 3, {"smart_status": 1}, {"ata_smart_attributes": {"table": [{}]}}, {"device": {}}]
)
def test_answer_without_health_gives_no_reading(found: object) -> None:
    assert asked(found) == {}


@pytest.mark.parametrize("output", ["[]", "{", '{"critical_warning": 1}'])
def test_answer_of_another_kind_is_no_reading(output: str) -> None:
    tool_outputs: ToolOutputs = {"nvme smart-log /dev/nvme0 -o json": ToolOutput(output=output)}
    assert health_readings(disk("nvme0n1", link="nvme"), tool_outputs) == ()


def test_faults_of_a_sata_drive_name_its_tool() -> None:
    worn = disk(readings=readings(smart_status="failed", pending_sectors="8", reallocated_sectors="3"))
    found = finding(verdict(on_disk(None, worn), step()), "drive-health")
    assert "sda: its own test failed (SMART) and 8 unreadable sectors" in found.sentence
    assert found.verdict is None and "'smartctl -a /dev/sda'" in found.next[0]
    assert any("reallocated_sectors" in line for line in found.evidence)


def test_spare_sectors_in_use_are_no_fault() -> None:
    healthy = readings(smart_status="passed", backup="good", reallocated_sectors="3", grown_defects="9")
    assert "drive-health" not in rules(verdict(on_disk(None, disk(readings=healthy)), step()))


def test_known_fault_is_flagged_in_the_list() -> None:
    """Before a byte is written: the list judges the configuration alone."""
    drive = disk(model="WDC WD40EFRX-68WT0N0", readings=readings(firmware="0A80"), write_cache="write back")
    found = JudgementCache().judge(Inventory(filesystems=(on_disk(None, drive),), process=HONEST_PROCESS))["/srv"]
    assert found.findings[0].rule == "known-fault"
