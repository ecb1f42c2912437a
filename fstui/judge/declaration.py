"""How a rule is declared: one file, one rule, its module's docstring the page that ``fstui explain`` shows.

A rule is a function from a case to findings. Its file is named like its public name, with underscores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.model.judgement import Finding

LAST = 1000
"""After those that name a place."""


class Rule(NamedTuple):
    """What the judge knows of a rule."""

    name: str
    """As findings carry it: ``flushes-missing``."""
    judge: Callable[[Case], Iterable[Finding]]
    place: int
    said_first: bool

    def __call__(self, case: Case) -> Iterable[Finding]:
        return self.judge(case)


def rule(*, place: int = LAST, said_first: bool = False) -> Callable[[Callable[[Case], Iterable[Finding]]], Rule]:
    """Declares a rule.

    ``place``: among findings that weigh the same, a rule with a lower place is heard first within its question; those
    of the same place by name. ``said_first``: the sentence of its notes comes before the verdict's own: what makes a
    measurement worthless, and what a watch was asked.
    """

    def declare(judge: Callable[[Case], Iterable[Finding]]) -> Rule:
        return Rule(judge.__name__.replace("_", "-"), judge, place, said_first)

    return declare
