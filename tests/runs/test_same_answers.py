from msgspec.structs import replace

from fstui.model.host import Inventory
from fstui.model.judgement import Finding
from fstui.report import inventory
from fstui.report.findings import ordered
from fstui.runs.rules import JudgementCache
from fstui.tui.drawing import storage
from fstui.tui.screens.result import ResultScreen
from tests.factories.screens import RUN
from tests.judge.rules.device.test_hidden import BRIDGED, served
from tests.printing import as_text, run_as_text

QUIET = replace(served("ext4"), mount_point="/quiet", stack=())
HERE = Inventory(
    filesystems=(QUIET, replace(served(), mount_point="/mnt/nfs"), replace(BRIDGED, mount_point="/mnt/usb"))
)
FLAGS = {mount: judgement for mount, judgement in JudgementCache().judge(HERE).items() if mount != "/quiet"}


def test_list_and_app_show_the_same_filesystems_in_one_order() -> None:
    in_app = [(entry.name, entry.verdict) for entry in storage.entries(HERE, FLAGS, {})]
    assert in_app == [("/mnt/nfs", "cannot-tell"), ("/mnt/usb", "cannot-tell"), ("/quiet", None)]
    listed = as_text(inventory.inventory_report(HERE, FLAGS)).splitlines()
    rows = [line for line in listed if line[3:].startswith(("/mnt/nfs ", "/mnt/usb ", "/quiet "))]
    assert [(row[0], row[3:].split()[0]) for row in rows] == [("?", "/mnt/nfs"), ("?", "/mnt/usb"), (" ", "/quiet")]
    assert any(line.startswith("? /mnt/nfs: cannot-tell, ") and "(remote-filesystem)" in line for line in listed)
    assert any(line.startswith("? /mnt/usb: cannot-tell, ") and "(usb-bridge)" in line for line in listed)


def finding(rule: str, verdict: str | None, confidence: str, scope: str = "storage") -> Finding:
    return Finding(rule=rule, verdict=verdict, confidence=confidence, scope=scope, title=rule)  # type: ignore[arg-type]


def test_deciding_findings_come_first_everywhere() -> None:
    judged = (
        finding("a-doubt", "cannot-tell", "low"),
        finding("what-decides", "consistent", "high"),
        finding("of-a-step", "not-durable", "high", "step"),
        finding("a-note", None, "high"),
    )
    run = replace(RUN, findings=judged, verdict="consistent", confidence="high", steps=())
    expected = ["what-decides", "a-doubt", "of-a-step", "a-note"]
    assert [found.rule for found in ordered(run)] == expected
    assert [found.rule for found in ResultScreen(run, None, None).findings] == expected
    for text in (run_as_text(run), run_as_text(run, "markdown")):
        places = [text.rindex(rule) for rule in expected]
        assert places == sorted(places)
