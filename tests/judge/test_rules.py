"""The files of the rules folders are what judges and what ``fstui explain`` shows."""

from importlib import import_module
from pathlib import Path

import pytest

from fstui.judge import explain, facts, has_page, questions, rule_names, rules
from fstui.judge.declaration import Conclusion, Rule, rule
from fstui.judge.defects import defects
from fstui.judge.facts import Case
from fstui.judge.rules import QUESTIONS, RENAMED, all_rules, pages
from fstui.model.run import Evidence
from fstui.report import explanation
from tests.factories.steps import step

FOLDER = Path(rules.__file__).parent
FILES = sorted(path.relative_to(FOLDER) for path in FOLDER.glob("*/[a-z]*.py"))
DEFECTS = Path("configuration/defects.py")


def rules_in(path: Path) -> list[str]:
    module = import_module(".".join((rules.__name__, *path.with_suffix("").parts)))
    return [found.name for found in vars(module).values() if isinstance(found, Rule)]


def test_every_rule_has_a_page() -> None:
    names = {name: path.parent.name for path in FILES for name in rules_in(path) if path != DEFECTS}
    assert names.items() <= {name: page.question for name, page in pages().items()}.items()
    assert set(defects()) <= set(rule_names()) and rule_names() == tuple(sorted(rule_names()))
    assert {path.parent.name for path in FILES} == set(QUESTIONS)


@pytest.mark.parametrize("path", FILES, ids=str)
def test_file_has_its_tests_and_one_rule_has_its_name(path: Path) -> None:
    found = rules_in(path)
    assert len(found) > 1 or found in ([], [path.stem.replace("_", "-")])
    assert (Path(__file__).parent / "rules" / path.parent / f"test_{path.name}").is_file()


def test_every_fact_has_its_tests() -> None:
    modules = {path.name for path in Path(facts.__file__).parent.glob("[a-z]*.py")}
    assert modules <= {path.name.removeprefix("test_") for path in (Path(__file__).parent / "facts").iterdir()}


def test_earlier_questions_are_evaluated_first() -> None:
    names = [rule.name for rule in all_rules()]
    expected = ["power-cut", "sync-stubbed", "flushes-missing", "same-block-rotation", "usb-bridge", "replica-cut"]
    assert [name for name in names if name in expected] == expected
    assert names.index("flushes-missing") < names.index("bytes-missing") < names.index("flushes-arrive")
    assert len(set(names)) == len(names) > 35


@pytest.mark.parametrize("name", rule_names())
def test_page_has_a_title_and_its_four_questions(name: str) -> None:
    page = explain(name)
    assert page.startswith(f"# {name}\n\n*")
    headings = [line.removeprefix("## ") for line in page.splitlines() if line.startswith("#")][1:]
    expected = ["What it means", "How it was measured", "What it proves, and what it does not", "What to do next"]
    assert headings in (expected, [*expected, "Details"])


@pytest.mark.parametrize("name", rule_names())
def test_page_fits_a_screen_of_40_lines(name: str) -> None:
    page, _, _ = explanation.plain_text(explanation.rule_markdown(name), 80).partition("\nWords ('fstui")
    assert len(page.splitlines()) <= 2 + 40


def test_questions_list_every_page_with_a_sentence() -> None:
    assert [words[-1] for words in questions()] == ["?"] * len(QUESTIONS)
    meanings = {name: meaning for rules in questions().values() for name, meaning in rules}
    assert tuple(sorted(meanings)) == rule_names()
    assert all(len(meaning) > 10 and meaning[-1] == "." for meaning in meanings.values())


@pytest.mark.parametrize(("old", "today"), RENAMED.items())
def test_old_rule_name_shows_the_page_of_today(old: str, today: str) -> None:
    assert has_page(old) and old not in rule_names()
    assert explain(old) == explain(today)
    assert explanation.rule_markdown(old) == explanation.rule_markdown(today)


@pytest.mark.parametrize("name", ["nonsense", "", "../verdict", "flushes_arrive"])
def test_unknown_rule_has_no_page(name: str) -> None:
    assert not has_page(name)
    with pytest.raises(KeyError):
        explain(name)


def test_conclusion_becomes_a_finding_of_its_rule() -> None:
    @rule()
    def some_rule(case: Case) -> list[Conclusion]:
        return [Conclusion("title", "A sentence.", steps=[step(), step()], evidence=["a line"])]

    (found,) = some_rule(Case(Evidence()))
    assert (found.rule, found.verdict, found.confidence, found.scope) == ("some-rule", None, "high", "storage")
    assert (found.steps, found.evidence, found.next) == (("fdatasync",), ("a line",), ())
