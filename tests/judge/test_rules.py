"""The rules are found by their files: what stands in the folders is what judges, and what is explained."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from fstui.judge import explain, facts, rule_names, rules
from fstui.judge.declaration import Rule
from fstui.judge.defects import defects
from fstui.judge.rules import QUESTIONS, all_rules

FOLDER = Path(rules.__file__).parent
FILES = sorted(path.relative_to(FOLDER) for path in FOLDER.glob("*/[a-z]*.py"))


def test_what_stands_in_the_folders_is_what_is_explained() -> None:
    of_files = {path.stem.replace("_", "-") for path in FILES if path.stem != "defects"}
    assert rule_names() == tuple(sorted((*of_files, *defects())))
    assert {path.parent.name for path in FILES} == set(QUESTIONS)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_one_file_is_one_rule_of_its_name_or_a_page_alone(path: Path) -> None:
    module = import_module(".".join((rules.__name__, *path.with_suffix("").parts)))
    names = [found.name for found in vars(module).values() if isinstance(found, Rule)]
    assert names in ([], [path.stem.replace("_", "-")])


@pytest.mark.parametrize("path", FILES, ids=str)
def test_each_has_its_own_tests(path: Path) -> None:
    tests = Path(__file__).parent / "rules" / path.parent
    assert (tests / f"test_{path.name}").is_file()


def test_each_fact_has_its_own_tests() -> None:
    modules = {path.name for path in Path(facts.__file__).parent.glob("[a-z]*.py")}
    assert modules <= {path.name.removeprefix("test_") for path in (Path(__file__).parent / "facts").iterdir()}


def test_earlier_questions_are_heard_first() -> None:
    names = [rule.name for rule in all_rules()]
    expected = ["power-cut", "sync-stubbed", "flushes-missing", "same-block-rotation", "usb-bridge", "odsync-cheaper"]
    assert [name for name in names if name in expected] == expected
    assert names.index("flushes-missing") < names.index("bytes-missing") < names.index("flushes-arrive")
    assert len(set(names)) == len(names) > 35


def test_a_page_has_a_title_and_its_four_questions() -> None:
    for name in rule_names():
        page = explain(name)
        assert page.startswith(f"# {name}\n\n*")
        headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("#")][1:]
        assert headings == [
            "What it means", "How it was measured", "What it proves, and what not", "What to do next",
        ]  # fmt: skip


def test_group_commit_has_a_page_though_it_never_yields() -> None:
    assert "group-commit" in rule_names()
    assert "group-commit" not in [rule.name for rule in all_rules()]


@pytest.mark.parametrize("name", ["nonsense", "", "../verdict", "flushes_arrive"])
def test_an_unknown_rule_has_no_page(name: str) -> None:
    with pytest.raises(KeyError):
        explain(name)
