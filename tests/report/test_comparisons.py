"""A comparison in every format that it is printed in."""

from __future__ import annotations

import csv
import io
import json

import pytest
from msgspec.structs import replace

from fstui.measure.kinds.documents import decode_run
from fstui.model.run import Run
from fstui.report import compare, formats
from tests import printing
from tests.factories import screens
from tests.hostile import assert_safe, everywhere
from tests.report.test_html import Elements

FASTER = tuple(replace(step, rate_per_s=step.rate_per_s * 93) for step in screens.STEPS)
HONEST: Run = replace(screens.RUN, id="honest", verdict="consistent")
LYING: Run = replace(screens.RUN, id="lying", steps=FASTER, verdict="not-durable")


def printed(name: str, *runs: Run) -> str:
    return printing.printed(compare.of_runs(runs, per_hour={HONEST.id: 0.17}), name)


@pytest.mark.parametrize("name", formats.report_names())
def test_names_are_text_and_the_faster_one_is_said_not_to_be_durable(name: str) -> None:
    assert_safe(printed(name, everywhere(HONEST), everywhere(LYING)))
    told = printed(name, HONEST, LYING).replace("_", " ")
    assert "not durable" in told and "honest" in told and "lying" in told


def test_a_row_and_an_object_for_each_step_of_each_side() -> None:
    rows = list(csv.DictReader(io.StringIO(printed("csv", HONEST, LYING))))
    found = json.loads(printed("json", HONEST, LYING))
    assert [side["runs"] for side in found["sides"]] == [["honest"], ["lying"]]
    assert len(rows) == len(found["steps"])
    row = next(row for row in rows if (row["step"], row["side"]) == ("fdatasync", "B"))
    assert (float(row["times"]), row["times_low"], row["faster_but_not_durable"]) == (93.0, "", "True")


def test_the_page_fetches_nothing_and_holds_each_document() -> None:
    elements = Elements(printed("html", HONEST, LYING))
    scripts = [attributes for tag, attributes in elements.found if tag == "script"]
    assert [script["id"] for script in scripts] == ["run-0", "run-1"]
    assert [decode_run(data.encode()) for data in elements.data if data.strip()] == [HONEST, LYING]
    assert not any(tag in {"img", "link", "iframe", "a"} or "style" in found for tag, found in elements.found)
