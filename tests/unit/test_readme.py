"""What the README shows is what there is."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from fstui import scenario
from fstui.cli.commands import COMMANDS
from fstui.model import VERDICTS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_its_scenario_is_one(tmp_path: Path) -> None:
    (shown,) = blocks("toml")
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
    assert (Path(__file__).resolve().parents[2] / file).is_file()


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines() if "fstui run" in line])
def test_its_runs_name_scenarios_and_settings_that_exist(line: str) -> None:
    words = line.partition("#")[0].split()
    loaded = scenario.load(words[2])
    pairs = [word.split("=") for flag, word in pairwise(words) if flag == "--set"]
    scenario.expand(loaded, dict(pairs))
