"""The rules, one file each, in a folder for each question. What stands here is what ``fstui explain`` lists.

To add one: a module that declares it (``declaration.rule``), its docstring the page; and its tests in the same place
under ``tests/judge/rules``. A module without a rule is a page alone: it explains why there is none.
"""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from importlib import import_module

from fstui.judge.declaration import Rule

QUESTIONS = ("proof", "configuration", "arrival", "rotation", "device", "database", "speed", "notes")
"""Among findings that weigh the same, those of an earlier question come first."""


@cache
def pages() -> dict[str, str]:
    """Public name → module, in alphabetical order; none of them is imported for it."""
    found = {}
    for question in QUESTIONS:
        package = import_module(f"{__name__}.{question}")
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            found[module.name.rpartition(".")[2].replace("_", "-")] = module.name
    return dict(sorted(found.items()))


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order in which they are heard."""
    found = [
        (QUESTIONS.index(name.split(".")[-2]), rule.place, rule.name, rule)
        for name in pages().values()
        for rule in vars(import_module(name)).values()
        if isinstance(rule, Rule)
    ]
    return tuple(rule for *_, rule in sorted(found, key=lambda entry: entry[:3]))


def page(name: str) -> str:
    """The docstring of that rule's module. Raises KeyError where there is no such page."""
    package, _, module = pages()[name].rpartition(".")
    return documentation(package, f"{module}.py")


@cache
def documentation(package: str, file: str = "__init__.py") -> str:
    """A file's docstring, read from its source: an interpreter that optimises (``PYTHONOPTIMIZE=2``) keeps none."""
    source = pkgutil.get_data(package, file)
    assert source is not None, "it is part of the package"
    return ast.get_docstring(ast.parse(source)) or ""
