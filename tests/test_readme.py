"""What the README shows is what there is."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import click
import pytest

from fstui.cli.commands import COMMANDS, group
from fstui.model.judgement import VERDICTS
from fstui.report import formats
from fstui.runs import scenario

CHECKOUT = Path(__file__).resolve().parents[1]
README = (CHECKOUT / "README.md").read_text()
SCENARIOS = (CHECKOUT / "scenarios" / "README.md").read_text()
REPORTS = (CHECKOUT / "tests" / "databases" / "README.md").read_text()


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_scenario_that_is_shown_is_one(tmp_path: Path) -> None:
    (shown,) = blocks("toml", SCENARIOS)
    (tmp_path / "my-log.toml").write_text(shown)
    loaded = scenario.load(str(tmp_path / "my-log.toml"))
    _, steps = scenario.expand(loaded, {"block": "4K,16K"})
    assert [step.name for step in steps] == ["append 4096, fdatasync", "append 16384, fdatasync"]


def test_every_command_and_every_verdict_is_explained() -> None:
    missing = [word for word in COMMANDS if f"`fstui {word}" not in README and f"`{word} " not in README]
    assert missing == []
    assert [word for word in VERDICTS if f"| **{word}** |" not in README] == []


@pytest.mark.parametrize("file", re.findall(r"!\[.*?\]\((.*?)\)", README))
def test_its_pictures_are_there(file: str) -> None:
    assert (CHECKOUT / file).is_file()


@pytest.mark.parametrize("place", re.findall(r"\]\(([^)]*\.md)\)|`(fstui/[\w/]+|scenarios)`", README))
def test_the_places_that_it_names_are_there(place: tuple[str, str]) -> None:
    assert (CHECKOUT / "".join(place)).exists()


CALLS = re.findall(
    r"(?:^|BOX |\| )fstui ([a-z][^|<>#\n]*)",
    "".join(blocks("sh") + blocks("sh", SCENARIOS) + blocks("sh", REPORTS)),
    re.MULTILINE,
)


@pytest.mark.parametrize("call", CALLS)
def test_its_commands_take_what_it_gives_them(call: str) -> None:
    name, *arguments = shlex.split(call)
    command = group.get_command(click.Context(group), name)
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), arguments.pop(0))
    assert command is not None
    command.make_context(name, arguments)  # raises where it has no such option, choice or argument


def test_its_formats_are_there() -> None:
    named = set(re.findall(r"--format (\w+)", README))
    assert named and named <= set(formats.names())


@pytest.mark.parametrize(
    "line",
    [line for block in blocks("sh") + blocks("sh", REPORTS) for line in block.splitlines() if "fstui run" in line],
)
def test_its_runs_name_scenarios_and_settings_that_exist(line: str) -> None:
    words = shlex.split(line, comments=True)
    loaded = scenario.load(words[2])
    pairs = [word.split("=") for flag, word in pairwise(words) if flag == "--set"]
    scenario.expand(loaded, dict(pairs))
