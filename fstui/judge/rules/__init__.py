"""The rules, in one folder per question. ``fstui explain`` lists them.

To add a rule, write a function that declares it (``declaration.rule``) and its tests in the same place under
``tests/judge/rules``. Its page is the docstring of its file, or its own docstring in a file with several rules. A file
without a rule is a page that explains why there is none. A configuration that drops syncs is a row of
``defects.toml``, which also holds its page.
"""

import ast
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from fstui.judge.declaration import Rule
from fstui.judge.defects import defects
from fstui.model.quantities import with_nonbreaking_spaces

QUESTIONS = {
    "proof": "Was the power cut, and what survived?",
    "configuration": "Does the configuration alone show that syncs are not durable?",
    "arrival": "Did the flushes and bytes reach the devices, and does a flush do any work there?",
    "rotation": "Is a rotating disk faster than its platter allows?",
    "device": "Is what the device, its link and its provider report credible?",
    "database": "Are a database's commits durable?",
    "speed": "Is the storage slow?",
    "notes": "Which other facts matter?",
}
"""The questions by folder. Of two findings of equal weight, the one that answers the earlier question comes first."""
_QUESTIONS_ABOUT_STEPS = frozenset({"proof", "arrival", "rotation", "database", "speed"})
"""Questions that the configuration alone cannot answer."""
RENAMED = {
    "flush-flat": "flush-cost",
    "in-its-shoes": "another-cgroup",
    "mounted-sync": "unknown-layer",
    "odsync-cheaper": "flushes-missing",
    "provider-volume": "stated-durable",
    "raid-cache": "stated-durable",
    "slower-than-class": "is-it-slow",
    "stalls": "is-it-slow",
}
"""The current names of rules by their old names, which saved runs may contain."""
_MARKDOWN = str.maketrans("", "", "`*#")
_DEFECTS = "defects"
"""The module that reports the rows of ``defects.toml``. It has no page of its own."""


class Page(NamedTuple):
    question: str
    text: str


@cache
def pages() -> dict[str, Page]:
    """Return the pages by public rule name, in alphabetical order. No rule is imported for this."""
    by_name = {name: Page("configuration", defect.page.strip()) for name, defect in defects().items()}
    for question, module in _modules():
        if module != _DEFECTS:
            by_name.update((name, Page(question, text)) for name, text in _page_texts(question, module))
    return dict(sorted(by_name.items()))


@cache
def all_rules(*, with_steps: bool = True) -> tuple[Rule, ...]:
    """Return the rules in order. ``with_steps``: include those that judge steps. A list of filesystems has no steps and
    may be thousands of lines long, so these rules would only cost time."""
    order = list(QUESTIONS)
    entries = [
        (order.index(question), rule.order, rule.name, rule)
        for question, module in _modules()
        for rule in vars(import_module(f"{__name__}.{question}.{module}")).values()
        if isinstance(rule, Rule) and (with_steps or question not in _QUESTIONS_ABOUT_STEPS)
    ]
    return tuple(rule for *_, rule in sorted(entries, key=lambda entry: entry[:3]))


def rule_names() -> tuple[str, ...]:
    return tuple(pages())


def has_page(rule_name: str) -> bool:
    return RENAMED.get(rule_name, rule_name) in pages()


def explain(rule_name: str) -> str:
    """Return the page of a rule in Markdown. Old names work too. Raises KeyError if there is no such rule."""
    name = RENAMED.get(rule_name, rule_name)
    return with_nonbreaking_spaces(f"# {name}\n\n{pages()[name].text}\n")


def questions() -> dict[str, list[tuple[str, str]]]:
    """Return the rules by question: the name of each rule, and the first sentence of its page."""
    rules = pages().items()
    return {
        text: [(name, _first_sentence(page.text)) for name, page in rules if page.question == question]
        for question, text in QUESTIONS.items()
    }


def _page_texts(question: str, module: str) -> Iterator[tuple[str, str]]:
    # read the source, because an optimising interpreter (-OO) keeps no docstrings
    source = pkgutil.get_data(f"{__name__}.{question}", f"{module}.py")
    assert source is not None, "it is part of the package"
    tree = ast.parse(source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    if len(functions) > 1:
        yield from ((node.name.replace("_", "-"), ast.get_docstring(node) or "") for node in functions)
    else:
        yield module.replace("_", "-"), ast.get_docstring(tree) or ""


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    """Return the question and the name of each module with rules, without importing the modules."""
    return tuple(
        (question, module.name)
        for question in QUESTIONS
        for module in pkgutil.iter_modules(import_module(f"{__name__}.{question}").__path__)
    )


def _first_sentence(page: str) -> str:
    _, _, body = page.partition("## What it means\n")
    paragraph = with_nonbreaking_spaces(" ".join(body.split("\n\n")[0].translate(_MARKDOWN).split()))
    return re.split(r"(?<=[.:]) (?=[A-Z]|fstui\b)", paragraph, maxsplit=1)[0]
