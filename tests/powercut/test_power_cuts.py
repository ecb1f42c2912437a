"""The history of cuts, with documents in the first version of the format."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from fstui.judge import judge
from fstui.measure.kinds.documents import decode_run
from fstui.measure.wire.own_directory import POWER_CUT_PREFIX
from fstui.model.documents import with_digest
from fstui.model.run import Run
from fstui.powercut import power_cuts
from fstui.state import ledger
from tests.factories import saved_runs

SAVED = Path(__file__).parent / "saved"


def first_version(name: str) -> Run:
    data = (SAVED / f"{name}.json").read_bytes()
    assert b'"fstui.run/1"' in data
    return decode_run(data)


REWORDED = {
    "kept": "All 125 acknowledged records survived (46 more were overwritten later), after 1 cut with these settings.",
    "lost": "Lost: 1 of 124 acknowledged records (1 missing). Each was acknowledged after its sync returned. The "
    "oldest lost one was acknowledged 0.0 s before the last record.",
}
"""Sentences that have changed since."""


@pytest.mark.parametrize("name", ["kept", "lost"])
def test_cut_of_the_first_version_is_judged_alike(name: str) -> None:
    run = first_version(name)
    assert run.verdict == name
    again = judge(run)
    assert (again.verdict, again.confidence, again.sentence) == (run.verdict, run.confidence, REWORDED[name])
    (found,), (today,) = run.findings, again.findings
    assert today == replace(found, title=today.title, sentence=REWORDED[name], evidence=today.evidence, next=today.next)
    assert len(today.evidence) == len(found.evidence)


def test_saved_cut_counts_as_survived() -> None:
    run = first_version("kept")
    path = saved_runs.save(run)
    found = power_cuts.figures_of(run)
    assert found is not None
    assert power_cuts.read_history(found.identity).survived_cuts == 1
    assert power_cuts.read_earlier_cuts("another", found.identity) == (None, 1)
    decided, survived = power_cuts.read_earlier_cuts(found.cut, found.identity)
    assert decided is not None and decided.path == path and decided.run == run
    assert survived == 0


def test_altered_verification_does_not_count() -> None:
    run = with_digest(first_version("kept"))
    found = power_cuts.figures_of(run)
    assert found is not None
    saved_runs.save(replace(run, sentence="It was kept for good."))
    assert power_cuts.read_history(found.identity).survived_cuts == 0
    saved_runs.save(run)
    assert power_cuts.read_history(found.identity).survived_cuts == 1


def test_saved_runs_are_read_once_for_many_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for number in range(30):
        ledger.write_entry(f"c{number}", "directory", f"/srv/{POWER_CUT_PREFIX}c{number}", pid=gone.pid)
    ledger.write_entry("r", "directory", "/srv/.fstui-r", pid=gone.pid)
    read = []

    def verified_cuts() -> Iterator[power_cuts.VerifiedCut]:
        read.append("all")
        yield from ()

    monkeypatch.setattr(power_cuts, "verified_cuts", verified_cuts)
    removable, unverified = power_cuts.leftovers()
    assert (len(unverified), [entry.run for entry in removable]) == (30, ["r"])
    assert read == ["all"]
