"""Every JSON document and every event that a command prints is valid by the schema that ``fstui schema`` prints."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from fstui.cli import catalog
from fstui.fleet import report as of_fleets
from fstui.fleet import results
from fstui.fleet.results import About
from fstui.measure.kinds.documents import decode_run
from fstui.model.documents import encode
from fstui.report import documents, teaching
from fstui.report.documents import EVENTS
from fstui.report.formats.json import line
from fstui.simulate.lab.laboratory import Lab, LabVolume
from tests.cli.conftest import Fstui
from tests.factories import saved_runs
from tests.factories.samples import RUN
from tests.printing import as_text

KINDS = {**documents.DOCUMENTS, **of_fleets.DOCUMENTS}
SCHEMAS = {EVENTS: documents.schema_of_events()} | {name: documents.schema(*kind) for name, kind in KINDS.items()}
FROZEN = sorted(Path(__file__).parents[1].glob("judge/frozen/machine-*.json.gz"))


def exact(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without permission for fields that it does not describe."""
    for defined in schema["$defs"].values():
        if "properties" in defined:
            defined["additionalProperties"] = False
    return schema


VALIDATORS = {name: Draft202012Validator(exact(schema)) for name, schema in SCHEMAS.items()}


def assert_valid(name: str, text: str | bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    VALIDATORS[name].validate(document)
    return document


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_names_its_dialect_identifier_and_title(name: str) -> None:
    schema = SCHEMAS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema" and schema["title"]
    assert schema["$id"].startswith("urn:fstui:")
    kind = schema["$ref"].rpartition("/")[2] if "$ref" in schema else ""
    if kind:  # the identifier is the name in the document
        named = schema["$defs"][kind]["properties"]["schema"]["const"]
        assert schema["$id"] == f"urn:{named.replace('.', ':', 1)}"


def test_the_command_prints_every_schema(fstui: Fstui, capfd: pytest.CaptureFixture[str]) -> None:
    assert json.loads(fstui("schema").stdout)["$id"] == "urn:fstui:run/2"
    for name, expected in SCHEMAS.items():
        catalog.schema.main([name], standalone_mode=False)
        assert json.loads(capfd.readouterr().out)["$id"] == expected["$id"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("list", "list"),
        ("fit", "fit --simulate ssd-plp"),
        ("scenarios", "scenarios"),
        ("scenario", "scenarios sysbench-oltp"),
        ("scenario", "scenarios power-cut"),
        ("references", "references"),
        ("disks", "lessons --disks"),
        ("disk", "lessons --disks usb-hdd-zfs --truth"),
        ("plan", "run sysbench-oltp . --plan"),
        ("watch", "watch --simulate hdd-7200 --seconds 300ms"),
        ("check", "check --simulate ssd-plp"),
    ],
)
def test_printed_documents_are_valid(fstui: Fstui, name: str, words: str) -> None:
    done = fstui(*words.split(), "--format", "json")
    assert done.returncode == 0, done.stderr
    assert_valid(name, done.stdout)


def test_documents_of_saved_runs_are_valid(fstui: Fstui, own_home: Path) -> None:
    saved_runs.save(replace(RUN, id="a1b2c3"))
    saved_runs.save(RUN)
    for name, words in (
        ("run", ("show", "last")),
        ("run", ("show", "last", "--again")),
        ("history", ("history",)),
        ("trend", ("history", "trend")),
        ("comparison", ("compare", "a1b2c3", "last")),
    ):
        assert_valid(name, fstui(*words, "--format", "json").stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["run {scenario} {target}", "check {target} --yes", "watch --simulate hdd-7200 --seconds 1.1"]
)
def test_events_are_valid(fstui: Fstui, scenario: str, target: Path, words: str) -> None:
    done = fstui(*words.format(scenario=scenario, target=target).split(), "--format", "events")
    names = [assert_valid(EVENTS, event)["event"] for event in done.stdout.splitlines()]
    assert names[-1] in ("RunFinished", "WatchFinished")


@pytest.mark.parametrize("path", FROZEN[:: max(len(FROZEN) // 12, 1)], ids=lambda path: path.name)
def test_documents_of_other_hosts_are_valid(path: Path) -> None:
    assert_valid("run", line(decode_run(gzip.decompress(path.read_bytes()))))


def test_documents_of_a_fleet_are_valid(fstui: Fstui, tmp_path: Path) -> None:
    place = results.create_directory(tmp_path / "out")
    results.save_document(place, "db1", encode(RUN))
    results.save_about(place, About(command="run", nodes=("db1", "db2"), troubles={"db2": "gone"}))
    assert_valid("fleet", fstui("fleet", "show", str(place), "--format", "json").stdout)
    assert_valid("fleet-comparison", fstui("fleet", "compare", str(place), str(place), "--format", "json").stdout)


def test_documents_of_the_laboratory_are_valid() -> None:
    oak = LabVolume(name="oak", kind="barriers", opened=True)
    lab = Lab(
        run="abc123", directory="/srv/class", identity=(1, 2), volumes=(oak, LabVolume(name="elm", kind="volatile"))
    )
    assert_valid("lab", as_text(teaching.lab_report(lab), "json"))
    assert_valid("envelope", as_text(teaching.envelope_report(oak), "json"))
