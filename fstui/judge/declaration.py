"""How a rule is declared: a function from a case to conclusions, with the name of the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.model.judgement import Confidence, Finding, Scope, Verdict
from fstui.model.steps import Step

LAST = 1000
"""The order of rules that do not name one."""


class Conclusion(NamedTuple):
    """What a rule concludes from a case. Without a verdict it is a note."""

    title: str
    sentence: str
    verdict: Verdict | None = None
    confidence: Confidence = "high"
    scope: Scope = "storage"
    steps: Iterable[Step] = ()
    because: Iterable[str] = ()
    next: Iterable[str] = ()


class Rule(NamedTuple):
    name: str
    judge: Callable[[Case], Iterable[Conclusion | Finding]]
    """It yields findings instead of conclusions only if it reports under several names."""
    order: int
    said_first: bool

    def __call__(self, case: Case) -> Iterator[Finding]:
        for found in self.judge(case):
            yield found if isinstance(found, Finding) else self._finding(found)

    def _finding(self, found: Conclusion) -> Finding:
        steps = dict.fromkeys(step.name for step in found.steps)
        lists = {"steps": tuple(steps), "because": tuple(found.because), "next": tuple(found.next)}
        return Finding(rule=self.name, **{**found._asdict(), **lists})


def rule(
    *, order: int = LAST, said_first: bool = False
) -> Callable[[Callable[[Case], Iterable[Conclusion | Finding]]], Rule]:
    """Declare a rule, named like its function.

    ``order`` orders the rules of one question whose findings weigh the same: lower first, then by name.
    ``said_first`` puts the sentences of its notes before that of the verdict.
    """

    def declare(judge: Callable[[Case], Iterable[Conclusion | Finding]]) -> Rule:
        return Rule(judge.__name__.replace("_", "-"), judge, order, said_first)

    return declare
