"""Metrics, as the official parser reads them."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from fstui.model.run import Run
from fstui.report import formats
from fstui.report.characters import escape_controls
from tests.factories.samples import FAILED_RUN, RUN
from tests.hostile import NAME, everywhere


def samples(run: Run, name: str = "fstui_") -> Iterator[Sample]:
    for family in text_string_to_metric_families(str(formats.render("prometheus", run))):
        assert family.documentation and family.type == ("summary" if "latency" in family.name else "gauge")
        yield from (sample for sample in family.samples if sample.name.startswith(name))


def of_step(run: Run, name: str) -> dict[str, float]:
    return {sample.labels["step"]: sample.value for sample in samples(run, name)}


def test_one_verdict_is_1_and_every_other_is_0() -> None:
    found = {sample.labels["verdict"]: sample.value for sample in samples(RUN, "fstui_verdict")}
    assert len(found) == 7 and [verdict for verdict, value in found.items() if value] == ["suspicious"]


def test_each_step_has_metrics_in_base_units() -> None:
    assert of_step(RUN, "fstui_step_operations_per_second") == {"write, no sync": 211402.0, "fdatasync": 840.0}
    assert of_step(RUN, "fstui_step_flushes_per_sync") == {"fdatasync": 1.0}
    synced = [each for each in samples(RUN, "fstui_step_latency") if each.labels["step"] == "fdatasync"]
    quantiles = {each.labels["quantile"]: each.value for each in synced if "quantile" in each.labels}
    assert quantiles == {"0.5": 0.0012, "0.9": 0.002, "0.95": 0.003, "0.99": 0.0059, "1": 0.028}
    assert [each.value for each in synced if each.name.endswith("_count")] == [1680.0]
    assert [each.value for each in synced if each.name.endswith("_sum")] == [pytest.approx(1680 * 0.00123)]


def test_what_failed_or_was_not_counted_is_left_out() -> None:
    assert "O_DIRECT" not in of_step(FAILED_RUN, "fstui_step_")
    empty = Run(id="a", started_at="no time")
    assert {each.name for each in samples(empty)} == {
        "fstui_verdict", "fstui_run_duration_seconds", "fstui_run_written_bytes",
    }  # fmt: skip


def test_every_value_has_its_labels() -> None:
    for sample in samples(replace(RUN, simulated="a lying disk")):
        labels = {"scenario": "odirect-truth", "target": "/srv/data", "simulated": "a lying disk"}
        assert labels.items() <= sample.labels.items()
    assert not any("simulated" in sample.labels for sample in samples(RUN))


def test_any_name_can_be_a_label() -> None:
    for sample in samples(everywhere(RUN)):
        assert sample.labels["target"] == escape_controls(f"/srv/data{NAME}")


def test_no_value_is_repeated() -> None:
    told = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples(RUN)]
    assert len(set(told)) == len(told)
