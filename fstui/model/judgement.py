"""What the rules make of the evidence."""

from __future__ import annotations

from typing import Literal

from fstui.model.base import Base

Verdict = Literal["lost", "not-durable", "suspicious", "cannot-tell", "plausible", "consistent", "kept"]

Confidence = Literal["low", "medium", "high"]

Scope = Literal["storage", "process", "step"]

Answer = Literal["stalls", "slow", "unknown", "normal"]

VERDICTS: tuple[Verdict, ...] = (
    "lost", "not-durable", "suspicious", "cannot-tell", "plausible", "consistent", "kept",
)  # fmt: skip
"""Worst first."""

NOT_DURABLE: tuple[Verdict, ...] = ("lost", "not-durable")
"""It does not keep its word."""

ACCUSED: tuple[Verdict, ...] = (*NOT_DURABLE, "suspicious")
"""Its word is not to be relied on."""

TOO_SLOW: tuple[Answer, ...] = ("stalls", "slow")
"""Those of ``--fail-on slow``."""


class Finding(Base, frozen=True, kw_only=True):
    """What a rule makes of the evidence. A finding without a verdict is a note."""

    rule: str
    verdict: Verdict | None
    confidence: Confidence
    scope: Scope
    title: str
    """Short, with its number: "812/s, 7200 rpm allows 120"."""
    sentence: str = ""
    """One or two full sentences with their numbers."""
    steps: tuple[str, ...] = ()
    because: tuple[str, ...] = ()
    """Lines of "label: evidence"."""
    next: tuple[str, ...] = ()


class Speed(Base, frozen=True, kw_only=True):
    """Is it slow? The second answer, beside the verdict: neither has a part in the other."""

    answer: Answer = "unknown"
    yardstick: str = ""
    """What it was held against, in words: ``53 published on ssd``, ``5 runs before``; empty where there was nothing."""
    title: str = ""
    """Short, with its number. Empty in a document that is older than the question."""
    sentence: str = ""
    because: tuple[str, ...] = ()
    """Lines of "label: evidence", what else may hold it up among them."""
    next: tuple[str, ...] = ()


class Judgement(Base, frozen=True, kw_only=True):
    """What the findings come to. ``sentence`` is the one a person reads first."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    findings: tuple[Finding, ...] = ()
    speed: Speed = Speed()
