"""What the findings come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fstui.judge.facts import Case
from fstui.judge.rules import all_rules
from fstui.judge.speed import speed
from fstui.judge.undecided import why_undecided
from fstui.model.judgement import NOT_DURABLE, VERDICTS, Confidence, Finding, Judgement, Verdict
from fstui.model.run import Evidence

_CONFIDENCE: tuple[Confidence, ...] = ("high", "medium", "low")
_BEFORE_SOFT: tuple[Verdict, ...] = (*NOT_DURABLE, "kept", "suspicious")
"""``kept`` beats all but ``lost`` and ``not-durable``; the other three weigh their confidence first."""


def judge(evidence: Evidence) -> Judgement:
    """The findings, worst first, and what they come to. Without steps: what the configuration alone decides."""
    case = Case(evidence)
    found = order_of_findings(finding for rule in all_rules() for finding in rule(case))
    ground = decisive(found)
    before = [finding for finding in found if finding.rule in _said_first() and finding is not ground]
    first = " ".join(finding.sentence for finding in before)
    verdict: Verdict = (ground and ground.verdict) or "cannot-tell"
    return Judgement(
        verdict=verdict,
        confidence=ground.confidence if ground else "low",
        sentence=f"{first} {ground.sentence if ground else why_undecided(case)}".strip(),
        findings=found,
        speed=speed(case, verdict),
    )


def decisive(findings: Sequence[Finding]) -> Finding | None:
    """The finding that the verdict rests on; None where none of storage or process has a verdict."""
    judging = [finding for finding in findings if finding.verdict is not None and finding.scope != "step"]
    return min(judging, key=_weight, default=None)


def order_of_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst first, the more confident first; what speaks of one step only after the disk; notes last."""
    return tuple(sorted(findings, key=_order))


def _weight(finding: Finding) -> tuple[int, int, int]:
    verdict = finding.verdict or "cannot-tell"
    sure, rank = _CONFIDENCE.index(finding.confidence), VERDICTS.index(verdict)
    return (_BEFORE_SOFT.index(verdict) if verdict in _BEFORE_SOFT else len(_BEFORE_SOFT), sure, rank)


def _order(finding: Finding) -> tuple[bool, bool, int, int]:
    rank = VERDICTS.index(finding.verdict) if finding.verdict else len(VERDICTS)
    note = finding.verdict is None
    return (
        note,
        finding.scope == "step" or (note and finding.rule not in _said_first()),
        rank,
        _CONFIDENCE.index(finding.confidence),
    )


def _said_first() -> frozenset[str]:
    return frozenset(rule.name for rule in all_rules() if rule.said_first)
