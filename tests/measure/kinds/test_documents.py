"""Run documents are written in the second version, and read in both."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fstui.judge import judge
from fstui.measure import kinds as measures
from fstui.measure.kinds import documents
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.kinds.sysbench import SysbenchFigures
from fstui.model.documents import encode
from fstui.model.errors import Refused
from fstui.model.run import Run
from fstui.model.settings import UnknownFigures, UnknownSettings
from fstui.model.watch import LostWrite
from fstui.report import formats
from tests.factories.databases import OLTP
from tests.factories.runs import saved
from tests.factories.samples import RUN
from tests.report.test_figures import GROWTH

RUNS = (saved(), replace(OLTP, steps=(*OLTP.steps, GROWTH)))
SECOND = [json.loads(encode(run)) for run in RUNS]
SAVED = sorted((Path(__file__).parents[2] / "powercut/saved").glob("*.json"))


def as_first(document: dict[str, Any]) -> dict[str, Any]:
    """Return a step of the first version, with its kind next to the settings."""
    steps = [
        {
            **step,
            "probe": step["settings"]["probe"],
            "settings": without_tag(step["settings"]),
            "figures": without_tag(step["figures"] or {}),
        }
        for step in document["steps"]
    ]
    return {**document, "schema": "fstui.run/1", "steps": steps}


def without_tag(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "probe"}


def read(document: dict[str, Any]) -> Run:
    return documents.decode_run(json.dumps(document))


def with_step(**fields: Any) -> dict[str, Any]:
    """Return a document whose only step is changed."""
    document = json.loads(encode(replace(RUN, steps=RUN.steps[:1])))
    return {**document, "steps": [{**document["steps"][0], **fields}]}


@pytest.mark.parametrize("run", RUNS, ids=["writes", "databases"])
def test_document_is_read_back_unchanged(run: Run) -> None:
    assert documents.decode_run(encode(run)) == run


@pytest.mark.parametrize("run", RUNS, ids=["writes", "databases"])
def test_first_version_is_read_as_the_second(run: Run) -> None:
    first = as_first(json.loads(encode(run)))
    assert read(first) == run
    assert judge(read(first)) == judge(run)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: str(path.stem))
def test_steps_of_the_first_version_have_their_kinds(path: Path) -> None:
    run = documents.decode_run(path.read_bytes())
    assert run.schema == "fstui.run/2"
    assert not any(isinstance(step.settings, UnknownSettings) for step in run.steps)


def test_renamed_fields_keep_their_names_in_documents() -> None:
    figures = SysbenchFigures(host_cpu_share=0.5)
    lost = LostWrite(device=None, inode=1, errno=5, returned=2)
    assert json.loads(encode(figures))["box_cpu_share"] == 0.5 and json.loads(encode(lost))["told"] == 2
    assert measures.figures_from(json.loads(encode(figures))) == figures


def test_unknown_kind_of_step_is_kept_and_decides_nothing() -> None:
    fields = {"probe": "of a later version", "depth": {"a": [1]}}
    document = with_step(settings=fields, figures=fields)
    run = read(document)
    (step,) = run.steps
    assert (step.settings, step.figures) == (UnknownSettings(fields), UnknownFigures(fields))
    assert step.settings.probe == "of a later version" and step.settings.as_dict() == {"depth": {"a": [1]}}
    assert json.loads(encode(run))["steps"] == document["steps"]
    assert step.settings.commit_settings(step.figures or UnknownFigures()) is None


def test_step_that_never_began_has_no_settings() -> None:
    document = as_first(with_step(status="skipped", settings={"probe": "sysbench"}))
    (step,) = read(document).steps
    assert isinstance(step.settings, UnknownSettings) and step.settings.probe == "sysbench"


def test_unfit_values_of_the_first_version_are_kept() -> None:
    document = as_first(with_step())
    document["steps"][0] |= {"settings": {"block_bytes": "big"}, "figures": {"x": 1}}
    (step,) = read(document).steps
    assert not isinstance(step.settings, SyncWrites) and step.settings.probe == "sync_writes"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"ops": -1}, "$.steps[0].ops"),
        ({"elapsed_s": -0.5}, "$.steps[0].elapsed_s"),
        ({"rate_per_s": 1e308}, "$.steps[0].rate_per_s"),
        ({"histogram": [[1, -1]]}, "$.steps[0].histogram"),
        ({"settings": 3}, "Expected `object`, got `int`"),
        ({"settings": {"probe": "sync_writes", "block_bytes": "big"}}, "$.block_bytes"),
        ({"figures": [1]}, "Expected `object`, got `list`"),
        ({"figures": {"probe": "sysbench", "intervals": {"a": 1}}}, "$.intervals"),
        ({"figures": {"probe": "sysbench", "cpu_share": -1}}, "$.cpu_share"),
        ({"figures": {"probe": "dirty_flush", "sequential": "flat"}}, "$.sequential"),
        ({"figures": {"probe": "powercut"}}, "missing required field `cut`"),
    ],
)
def test_damaged_document_is_refused_with_the_place(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as refusal:
        read(with_step(**fields))
    assert said in str(refusal.value)


@pytest.mark.parametrize("data", [b"", b"[", b"3", b"null", b"{}", b'{"schema": 2}', b"\xff\xfe", b"[" * 100_000])
def test_other_documents_are_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        documents.decode_run(data)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield (*path, name)
        yield from places(item, (*path, name))


JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    10**15,
    10**30,
    2**63 - 1,
    -0.5,
    1e308,
    "x",
    "",
    "\x00",
    [],
    {},
    [1],
    {"a": 1},
    [[1, 2]],
)
DAMAGED = [(first, document, list(places(document))) for document in SECOND for first in (False, True)]


@given(
    st.sampled_from(DAMAGED).flatmap(
        lambda kind: st.tuples(st.just(kind[0]), st.just(kind[1]), st.sampled_from(kind[2]), st.sampled_from(JUNK))
    )
)
def test_damaged_document_is_refused_or_read_judged_and_shown(
    damage: tuple[bool, dict[str, Any], tuple[Any, ...], Any],
) -> None:
    first, document, (*path, last), junk = damage
    spoilt = as_first(deepcopy(document)) if first else deepcopy(document)
    place: Any = spoilt
    try:
        for name in path:
            place = place[name]
        place[last] = junk
    except (KeyError, TypeError):
        return  # the first version has it in another place
    try:
        run = documents.decode_run(json.dumps(spoilt))
    except Refused:
        return
    judge(run)
    for name in formats.names():
        formats.render(name, run)


def test_schema_names_every_kind_of_step() -> None:
    root, described = documents.schema_of(Run)
    assert root["$ref"] == "#/$defs/Run"
    known = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in measures.settings_kinds().values()]
    assert described["Step"]["properties"]["settings"]["anyOf"][:-1] == known
    assert {kind.__name__ for kind in measures.figures_kinds().values()} <= described.keys()
    assert described["Sysbench"]["properties"]["probe"] == {"enum": ["sysbench"]}
