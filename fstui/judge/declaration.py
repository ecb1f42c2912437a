"""Declare a rule as a function that takes a case and yields conclusions."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fstui.judge.facts import Case
from fstui.model.judgement import Confidence, Finding, Scope, Verdict
from fstui.model.steps import Step

DEFAULT_ORDER = 1000
"""The ``order`` of rules that set none."""


class Conclusion(NamedTuple):
    """What a rule concludes from a case. Without a verdict it is a note."""

    title: str
    sentence: str
    verdict: Verdict | None = None
    confidence: Confidence = "high"
    scope: Scope = "storage"
    steps: Iterable[Step] = ()
    evidence: Iterable[str] = ()
    next: Iterable[str] = ()
    rule: str = ""
    """The public name; empty: that of the function."""


class Rule(NamedTuple):
    name: str
    judge: Callable[[Case], Iterable[Conclusion]]
    order: int
    precedes_verdict: bool

    def __call__(self, case: Case) -> Iterator[Finding]:
        for conclusion in self.judge(case):
            steps = dict.fromkeys(step.name for step in conclusion.steps)
            lists = {"steps": tuple(steps), "evidence": tuple(conclusion.evidence), "next": tuple(conclusion.next)}
            yield Finding(**{**conclusion._asdict(), **lists, "rule": conclusion.rule or self.name})


def rule(
    *, order: int = DEFAULT_ORDER, precedes_verdict: bool = False
) -> Callable[[Callable[[Case], Iterable[Conclusion]]], Rule]:
    """Declare a rule with the name of its function.

    ``order``: among findings of equal weight about one question, those of the rule with the lower order come first.
    ``precedes_verdict``: the sentences of the rule's notes come before the sentence of the verdict.
    """

    def declare(judge: Callable[[Case], Iterable[Conclusion]]) -> Rule:
        return Rule(judge.__name__.replace("_", "-"), judge, order, precedes_verdict)

    return declare
