"""* suspicious, low confidence: the capacitor or battery of the drive's cache failed
* a note: the drive reports another fault; or its capacitor or battery failed, but a mirror has a copy of the data

## What it means
The drive itself reports a fault: the capacitor or battery of its cache failed, its endurance is used up, or it could
not read or write some of its blocks.

## How it was measured
As root, fstui read the health values of the drive once, and wrote nothing:

- NVMe: `nvme smart-log`
- SATA and SAS: `smartctl -n standby -a`, which does not wake a sleeping drive

## What it proves, and what it does not
If the capacitor or battery failed, a power cut may lose data that the drive acknowledged, whatever its data sheet
says. But some drives then turn their cache off or become read-only, and lose nothing. So confidence is low.

## What to do next
Copy the data to another drive, and replace this drive. `nvme smart-log DEVICE` and `smartctl -a DEVICE` show all
values.

## Details
fstui does not report these values as faults:

- unsafe shutdowns (power cuts without a warning): laptops and old servers have many
- reallocated sectors and grown defects: a drive has spare blocks to replace them
"""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.model.quantities import counted
from fstui.model.storage import Node
from fstui.storage.layers.devices.health import BACKUP_FAILED, HEALTH_READINGS, backup_failed
from fstui.storage.layers.devices.nvme import device_file
from fstui.storage.layers.facts import number

_USED_UP_PERCENT = 100
_WARNINGS = {
    0x01: "few spare blocks are left",
    0x02: "its temperature is out of range",
    0x04: "it is degraded by errors",
    0x08: "its medium is read-only",
    BACKUP_FAILED: "the capacitor or battery of its cache failed",
}
"""The meaning of each bit of the critical warning (NVM Express base specification)."""


@rule(order=96)
def drive_health(case: Case) -> Iterator[Conclusion]:
    failed = [node for node in case.stack.lowest if backup_failed(node)]
    worn = [node for node in case.stack.lowest if node not in failed and _faults(node)]
    if failed:
        yield Conclusion(
            verdict="suspicious" if case.stack.layers_without_copy(tuple(failed)) else None,
            confidence="low",
            title=f"{words.devices(failed)}: the capacitor or battery of its cache failed",
            sentence=f"{words.devices(failed)} itself reports that the capacitor or battery behind its cache failed. "
            "What it acknowledges may be lost in a power cut, whatever its data sheet promises.",
            evidence=_evidence_lines(failed),
            next=(f"Replace the drive: '{_command(failed[0])}' shows its state.",),
        )
    if worn:
        faults = "; ".join(f"{node.id}: {words.join_words(_faults(node))}" for node in worn)
        yield Conclusion(
            title=f"{words.devices(worn)}: a fault is reported",
            sentence=f"The drive itself reports: {faults}.",
            evidence=_evidence_lines(worn),
            next=(f"Back up the data. '{_command(worn[0])}' shows the drive's state.",),
        )


def _evidence_lines(nodes: list[Node]) -> Iterator[str]:
    return (line for node in nodes for line in words.readings(node, *HEALTH_READINGS))


def _command(node: Node) -> str:
    return f"{'nvme smart-log' if node.link == 'nvme' else 'smartctl -a'} {device_file(node)}"


def _faults(node: Node) -> tuple[str, ...]:
    values = {what: number(node, what) or 0 for what in HEALTH_READINGS}
    return (
        *(["its own test failed (SMART)"] if node.value("smart_status") == "failed" else []),
        *(text for bit, text in _WARNINGS.items() if values["critical_warning"] & bit),
        *(["its rated endurance is used up"] if values["percent_used"] >= _USED_UP_PERCENT else []),
        *([counted(values["media_errors"], "media error")] if values["media_errors"] else []),
        *([counted(values["pending_sectors"], "unreadable sector")] if values["pending_sectors"] else []),
    )
