"""What machines of the laboratory were seen to do, judged by the rules of now: none of them has to run for it.

``documents/KERNEL`` holds run documents of the guests as they were saved, but for the timelines, which no verdict
needs.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.lab import table
from tests.lab.laboratory import judged_again
from tests.lab.machine import load

DOCUMENTS = sorted(Path(__file__).with_name("documents").glob("*/*.json.gz"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: f"{path.name.partition('.')[0]}-{path.parent.name}")
def test_nothing_said_of_a_machine_is_at_odds_with_its_truth(path: Path) -> None:
    measured = judged_again(gzip.decompress(path.read_bytes()), elapsed_s=0.0)
    assert table.measurement_faults(load(path.name.partition(".")[0]), measured) == [], measured.sentence
