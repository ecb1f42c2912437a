"""The commands, files and links in the README and in the pages of ``fstui/docs`` exist."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import click
import pytest

from fstui.cli.commands import COMMANDS, group
from fstui.model.judgement import VERDICTS
from fstui.report import formats
from fstui.runs import scenarios

CHECKOUT = Path(__file__).resolve().parents[1]
DOCS = CHECKOUT / "fstui" / "docs"
README = (CHECKOUT / "README.md").read_text()
PAGES = {path: path.read_text() for path in (CHECKOUT / "README.md", *sorted(DOCS.glob("*.md")))}
ALL = "\n".join(PAGES.values()) + (CHECKOUT / "tests" / "databases" / "README.md").read_text()


def blocks(language: str, text: str = ALL) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_example_scenario_is_valid(tmp_path: Path) -> None:
    (shown,) = blocks("toml")
    (tmp_path / "my-log.toml").write_text(shown)
    loaded = scenarios.load(str(tmp_path / "my-log.toml"))
    _, steps = scenarios.expand(loaded, {"block": "4K,16K"})
    assert [step.name for step in steps] == ["append 4096, fdatasync", "append 16384, fdatasync"]


def test_every_command_has_a_row() -> None:
    commands = PAGES[DOCS / "commands.md"]
    assert [word for word in COMMANDS if not re.search(rf"`(fstui )?{word}\b", commands)] == []


def test_every_verdict_has_a_row() -> None:
    assert [word for word in VERDICTS if f"| **{word}** |" not in README] == []


@pytest.mark.parametrize(
    ("page", "link"),
    [(page, link) for page, text in PAGES.items() for link in re.findall(r"\]\((?!https://)([^)#]*)\)", text)],
    ids=str,
)
def test_links_lead_to_files(page: Path, link: str) -> None:
    assert (page.parent / link).exists()


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`((?:fstui|tests)/[\w/.]+)`", ALL))))
def test_named_files_exist(place: str) -> None:
    assert (CHECKOUT / place).exists() or place == "tests/run"


CALLS = re.findall(r"(?:^|HOST |\| )fstui ([a-z][^|<>#\n]*)", "".join(blocks("sh")), re.MULTILINE)


@pytest.mark.parametrize("call", CALLS)
def test_commands_accept_their_arguments(call: str) -> None:
    name, *arguments = shlex.split(call)
    command = group.get_command(click.Context(group), name)
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), arguments.pop(0))
    assert command is not None
    command.make_context(name, arguments)  # raises if an option, choice or argument is unknown


def test_named_formats_exist() -> None:
    named = set(re.findall(r"--format (\w+)", ALL))
    assert named and named <= set(formats.names())


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines() if "fstui run" in line])
def test_runs_name_existing_scenarios_and_settings(line: str) -> None:
    words = shlex.split(line, comments=True)
    loaded = scenarios.load(words[2])
    pairs = [word.split("=") for flag, word in pairwise(words) if flag == "--set"]
    scenarios.expand(loaded, dict(pairs))
