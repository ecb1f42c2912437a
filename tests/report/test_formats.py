"""One registry of formats: the command line, the app and these tests read it."""

import csv
import io

import click
import pytest
from msgspec.structs import replace

from fstui.cli.commands import group
from fstui.report import formats
from tests.factories.samples import FAILED_RUN, RUN


def choices(*names: str) -> list[str]:
    command: click.Command | None = group
    for name in names:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    (option,) = [each for each in command.params if each.name == "format_"]
    assert isinstance(option.type, click.Choice)
    return list(option.type.choices)


def test_every_command_that_prints_a_run_offers_every_format() -> None:
    for command in (["show"], ["judge"], ["powercut", "verify"]):
        assert choices(*command) == list(formats.names())
    assert choices("run") == [*formats.names(), "events"]
    assert formats.names()[0] == formats.PLAIN


@pytest.mark.parametrize("name", formats.names())
def test_every_format_prints_any_run(name: str) -> None:
    for shown in (RUN, FAILED_RUN, replace(RUN, steps=(), findings=(), target=None, scenario=None)):
        assert formats.render(name, shown)
    assert formats.format_of(name).ENDING.isalnum() or name in {formats.PLAIN, "brief", "seconds"}


def test_every_format_has_its_own_file_extension() -> None:
    endings = [ending for name in formats.names() if (ending := formats.format_of(name).ENDING)]
    assert len(set(endings)) == len(endings)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1+1", "＝1+1"])
def test_no_spreadsheet_calculates_a_name(name: str) -> None:
    text = formats.render("csv", replace(RUN, steps=(replace(RUN.steps[1], name=name, elapsed_s=-1.0),)))
    assert isinstance(text, str)
    (row,) = csv.DictReader(io.StringIO(text))
    assert row["name"] == ("\\x09=1+1" if name[0] == "\t" else f"'{name}")
    assert row["elapsed_s"] == "-1.0"  # a number is one, whatever it begins with
