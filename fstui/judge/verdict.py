"""The verdict of a run, from its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fstui.judge.facts import Case
from fstui.judge.fitness import fits, with_products
from fstui.judge.rules import all_rules
from fstui.judge.speed import speed
from fstui.judge.undecided import UNDECIDED, undecided
from fstui.model.judgement import NOT_DURABLE, VERDICTS, Confidence, Finding, Judgement, Verdict
from fstui.model.run import Evidence

_CONFIDENCE: tuple[Confidence, ...] = ("high", "medium", "low")
_FIRST: tuple[Verdict, ...] = (*NOT_DURABLE, "kept", "suspicious")
"""If there is one of these, the first in this order is the verdict. Among the others the most confident one is."""


def judge(evidence: Evidence) -> Judgement:
    """Return the findings, worst first, and the verdict. Without steps, the configuration alone decides."""
    case = Case(evidence)
    rules = all_rules(with_steps=bool(case.steps.all))
    found = order_of_findings(finding for rule in rules for finding in rule(case))
    ground = decisive(found)
    before = [finding for finding in found if finding.rule in _said_first() and finding.verdict is None]
    first = " ".join(finding.sentence for finding in before)
    verdict: Verdict = (ground and ground.verdict) or "cannot-tell"
    why = ground or undecided(case)
    fit = tuple(fits(case))
    return Judgement(
        verdict=verdict,
        confidence=why.confidence,
        sentence=f"{first} {why.sentence}".strip(),
        findings=found if ground or not case.steps.all else (*found, why),
        speed=with_products(speed(case, verdict), fit),
        fit=fit,
    )


def decisive(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that the verdict rests on; None if no finding about storage or process has a verdict."""
    judging = [finding for finding in findings if finding.verdict is not None and finding.scope != "step"]
    return min(judging, key=_weight, default=None)


def leading(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that the verdict rests on, or the note that says why there is none."""
    return decisive(findings) or next((finding for finding in findings if finding.rule == UNDECIDED), None)


def order_of_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort by verdict, worst first, then by confidence. Findings about one step come later, notes last."""
    return tuple(sorted(findings, key=_order))


def _weight(finding: Finding) -> tuple[int, int, int]:
    verdict = finding.verdict or "cannot-tell"
    first = _FIRST.index(verdict) if verdict in _FIRST else len(_FIRST)
    return first, _CONFIDENCE.index(finding.confidence), VERDICTS.index(verdict)


def _order(finding: Finding) -> tuple[bool, bool, int, int]:
    note = finding.verdict is None
    return (
        note,
        finding.scope == "step" or (note and finding.rule not in _said_first()),
        VERDICTS.index(finding.verdict) if finding.verdict else len(VERDICTS),
        _CONFIDENCE.index(finding.confidence),
    )


def _said_first() -> frozenset[str]:
    return frozenset(rule.name for rule in all_rules() if rule.said_first)
