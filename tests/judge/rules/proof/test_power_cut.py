from typing import Any

import pytest

from fstui.judge import Case, judge
from fstui.judge.rules.proof.power_cut import power_cut
from fstui.measure.kinds.powercut import PowerCutFigures
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.host import Host
from fstui.model.judgement import Finding
from fstui.model.run import Evidence
from fstui.model.settings import UnknownFigures, UnknownSettings
from fstui.model.steps import Step
from tests.factories.evidence import GUEST, METAL
from tests.factories.storage import filesystem, on_disk


def evidence(host: Host = METAL, **figures: Any) -> Evidence:
    """Return the evidence of a cut without loss, except for what is given."""
    seen: dict[str, Any] = {"cut": "a1", "identity": "x", "rebooted": True, "acknowledged": 900, "checked": 300}
    read_back = PowerCutFigures(**{**seen, "present": 300, **figures})
    step = Step(name="power cut", settings=UnknownSettings(), figures=read_back)
    return Evidence(host=host, target=on_disk(), steps=(step,))


def finding(host: Host = METAL, **figures: Any) -> Finding:
    (found,) = power_cut(Case(evidence(host, **figures)))
    return found


def test_cut_without_loss_is_kept() -> None:
    assert judge(evidence()).verdict == "kept"
    assert finding().title == "survived 1 cut"
    assert finding(cuts_before=11).title == "survived 12 cuts"


@pytest.mark.parametrize("kind", ["missing", "stale", "torn", "misplaced", "unreadable"])
def test_any_lost_record_gives_lost(kind: str) -> None:
    found = finding(METAL, **{kind: 1}, cuts_before=99)
    assert (found.verdict, found.confidence, found.scope) == ("lost", "high", "storage")
    assert "1 " in found.sentence and found.title.startswith("1 of 300")


def test_configuration_outweighs_kept_but_not_lost() -> None:
    barriers_off = on_disk(filesystem(barrier="nobarrier"))
    for figures, verdict in (({}, "not-durable"), ({"missing": 1}, "lost")):
        seen = evidence(METAL, **figures)
        assert judge(Evidence(host=METAL, target=barriers_off, steps=seen.steps)).verdict == verdict


@pytest.mark.parametrize(
    ("host", "cuts_before", "confidence"),
    [(METAL, 0, "medium"), (METAL, 3, "medium"), (METAL, 4, "high"), (GUEST, 0, "low"), (GUEST, 4, "medium")],
)
def test_more_cuts_raise_confidence_and_a_guest_lowers_it(host: Host, cuts_before: int, confidence: str) -> None:
    found = finding(host, cuts_before=cuts_before)
    assert found.confidence == confidence
    assert ("killed VM" in found.sentence) == (host is GUEST)


@pytest.mark.parametrize(
    ("figures", "word"),
    [
        ({"rebooted": False}, "not rebooted since"),
        ({"ended": "its time limit expired"}, "its time limit expired"),
        ({"checked": 0, "present": 0}, "nothing is proven"),
        ({"rebooted": False, "gone": True}, "directory was removed"),
        ({"acknowledged": 0, "checked": 0, "present": 0, "gone": True}, ""),
    ],
)
def test_run_without_cut_or_record_gives_cannot_tell(figures: dict[str, Any], word: str) -> None:
    found = finding(**figures)
    assert found.verdict == "cannot-tell"
    assert word in found.sentence
    assert found.next


def test_stopped_writer_without_a_restart_names_no_cut() -> None:
    found = finding(rebooted=False, ended="it was stopped")
    assert "the writer stopped (it was stopped) and this host has not rebooted since" in found.sentence
    assert "before the cut" not in found.sentence and "the boot id is the same" in found.evidence[-1]
    assert "before the cut" in finding(rebooted=True, ended="it was stopped").sentence


def test_records_in_flight_are_reported_but_not_lost() -> None:
    found = finding(in_flight=1, unpromised=3, newer=2, read_only=True, log_cut_off=True)
    assert found.verdict == "kept"
    lines = "\n".join(found.evidence)
    for word in ("in flight: 1 ", "new files: 3 ", "newer: 2 ", "read-only", "cut off"):
        assert word in lines


def test_lost_records_are_listed_by_sync_call() -> None:
    found = finding(torn=2, by_claim={"fsync, append": {"checked": 100, "lost": 2}, "O_DSYNC, create": {"checked": 9}})
    assert "fsync, append: 2 of 100 lost" in found.evidence
    assert "O_DSYNC, create: 0 of 9 lost" in found.evidence


def test_reason_from_outside_is_not_changed() -> None:
    found = finding(ended="\x1b[2J[red]gone")
    assert "\x1b[2J[red]gone" in found.sentence


def test_other_steps_have_no_power_cut() -> None:
    step = Step(name="fsync", settings=SyncWrites(), figures=UnknownFigures(cut="a"))
    assert list(power_cut(Case(Evidence(steps=(step,))))) == []


def test_figures_add_up() -> None:
    lost = PowerCutFigures(cut="a", identity="b", missing=1, stale=2, torn=4, misplaced=8, unreadable=16)
    assert lost.lost == 31
