"""The rules, in a folder for each question. What stands here is what ``fstui explain`` lists.

To add one: a module that declares it (``declaration.rule``), its docstring the page; and its tests in the same place
under ``tests/judge/rules``. A module without a rule is a page alone: it explains why there is none. A configuration
that drops syncs is a row of ``defects.toml``, which also has its page.
"""

from __future__ import annotations

import ast
import pkgutil
from functools import cache
from importlib import import_module

from fstui.judge.declaration import Rule
from fstui.judge.defects import defects

QUESTIONS = ("proof", "configuration", "arrival", "rotation", "device", "database", "speed", "notes")
"""Among findings that weigh the same, those of an earlier question come first."""


_DEFECTS = "defects"
"""The module that reports the rows of ``defects.toml``; it has no page of its own."""


@cache
def _modules() -> tuple[tuple[str, str], ...]:
    """Return the question and the name of each module; none of them is imported for it."""
    return tuple(
        (question, module.name)
        for question in QUESTIONS
        for module in pkgutil.iter_modules(import_module(f"{__name__}.{question}").__path__)
    )


@cache
def pages() -> dict[str, str]:
    """Return the question of each public name, in alphabetical order of the names."""
    found = {module.replace("_", "-"): question for question, module in _modules() if module != _DEFECTS}
    return dict(sorted({**found, **dict.fromkeys(defects(), "configuration")}.items()))


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order in which they are heard."""
    found = [
        (QUESTIONS.index(question), rule.place, rule.name, rule)
        for question, module in _modules()
        for rule in vars(import_module(f"{__name__}.{question}.{module}")).values()
        if isinstance(rule, Rule)
    ]
    return tuple(rule for *_, rule in sorted(found, key=lambda entry: entry[:3]))


def page(name: str) -> str:
    """The page of that rule. Raises KeyError where there is none."""
    question, defect = pages()[name], defects().get(name)
    return defect.page.strip() if defect else documentation(f"{__name__}.{question}", f"{name.replace('-', '_')}.py")


@cache
def documentation(package: str, file: str = "__init__.py") -> str:
    """A file's docstring, read from its source: an interpreter that optimises (``PYTHONOPTIMIZE=2``) keeps none."""
    source = pkgutil.get_data(package, file)
    assert source is not None, "it is part of the package"
    return ast.get_docstring(ast.parse(source)) or ""
