"""What machines of the laboratory were seen to do, judged by the rules of now: none of them has to run for it.

``documents/KERNEL`` holds run documents of the guests as they were saved, but for the timelines, which no verdict
needs.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fstui.judge import judge
from fstui.measures.documents import decode_run
from fstui.model.judgement import Verdict
from fstui.model.run import Run
from tests.lab import table, witness
from tests.lab.laboratory import judged_again
from tests.lab.machine import load

DOCUMENTS = sorted(Path(__file__).with_name("documents").glob("*/*.json.gz"))


def _id(path: Path) -> str:
    return f"{path.name.partition('.')[0]}-{path.parent.name}"


def read(path: Path) -> Run:
    return decode_run(gzip.decompress(path.read_bytes()))


TRACED = [path for path in DOCUMENTS if witness.is_traced(read(path))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=_id)
def test_nothing_said_of_a_machine_is_at_odds_with_its_truth(path: Path) -> None:
    measured = judged_again(gzip.decompress(path.read_bytes()), elapsed_s=0.0)
    assert table.measurement_faults(load(path.name.partition(".")[0]), measured) == [], measured.sentence


@pytest.mark.parametrize("path", TRACED, ids=_id)
def test_the_trace_makes_no_honest_machine_worse_and_excuses_no_liar(path: Path) -> None:
    run = read(path)
    seen, counted = judge(run).verdict, judge(witness.untraced(run)).verdict
    if load(path.name.partition(".")[0]).truth == "honest":
        assert standing(seen) >= standing(counted)
    elif counted in table.ACCUSATIONS:
        assert seen in table.ACCUSATIONS


def standing(verdict: Verdict) -> int:
    """2 praised, 1 undecided, 0 accused."""
    return 2 if verdict in table.PRAISE else 0 if verdict in table.ACCUSATIONS else 1


def test_a_row_tells_what_is_said_without_the_trace_and_who_asked_each_layer() -> None:
    document = gzip.decompress(next(path for path in TRACED if _id(path) == "multipath-lvm-6.12").read_bytes())
    assert witness.verdict_rows("multipath-lvm", "6.12", document) == [
        ("multipath-lvm", "6.12", "honest", "consistent, low", "consistent, low", "")
    ]
    assert witness.layer_rows("multipath-lvm", "6.12", document)[-1] == (
        "multipath-lvm", "6.12", "O_DIRECT+fdatasync", "219", "dm-1 219 by us › dm-0 219 by us › sda 0 › sdb 0",
    )  # fmt: skip
