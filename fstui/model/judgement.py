"""Verdicts, findings and the answer about speed."""

from typing import Literal, get_args

import msgspec

from fstui.model.base import Amount, Base, Count

Verdict = Literal["lost", "not-durable", "suspicious", "cannot-tell", "plausible", "consistent", "kept"]

Confidence = Literal["low", "medium", "high"]

Scope = Literal["storage", "process", "step"]

Answer = Literal["stalls", "slow", "unknown", "normal"]

Fitness = Literal["fits", "light-load", "within-limit", "does-not-fit", "no-threshold", "not-known"]
"""``light-load``: as fast as required, but slower than recommended. ``within-limit``: no sync took so long that the
product warns or stops. ``not-known``: too slow, but the host was short of CPU, or the step was stopped too early."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""Worst first."""

SPEEDS: tuple[Answer, ...] = get_args(Answer)
"""Worst first."""

NOT_DURABLE: tuple[Verdict, ...] = ("lost", "not-durable")
"""Acknowledged data was lost or can be lost."""

NOT_TRUSTED: tuple[Verdict, ...] = (*NOT_DURABLE, "suspicious")
"""Do not rely on the acknowledgements of such storage."""

TOO_SLOW: tuple[Answer, ...] = ("stalls", "slow")
"""The answers for which ``--fail-on slow`` exits with status 3."""

FASTEST_STEP = " (fastest with one writer)"
"""The end of the title of a ``Speed`` that names one of several steps. A narrow screen leaves it out."""


class Finding(Base, frozen=True, kw_only=True):
    """A rule's conclusion from the evidence. A finding without a verdict is a note."""

    rule: str
    verdict: Verdict | None
    confidence: Confidence
    scope: Scope
    title: str
    """Short, with its number: "812/s, 7200 rpm allows 120"."""
    sentence: str = ""
    """One or two full sentences with numbers."""
    steps: tuple[str, ...] = ()
    evidence: tuple[str, ...] = msgspec.field(default=(), name="because")
    """Lines of "label: evidence"."""
    next: tuple[str, ...] = ()


class Speed(Base, frozen=True, kw_only=True):
    """Whether the storage is slow. This answer does not affect the verdict."""

    answer: Answer = "unknown"
    yardstick: str = ""
    """What the rate was compared with: ``53 published rates for SSDs``, ``5 earlier runs``; may be empty."""
    title: str = ""
    """Short, with its number. Empty in documents from before fstui judged the speed."""
    sentence: str = ""
    evidence: tuple[str, ...] = msgspec.field(default=(), name="because")
    """Lines of "label: evidence", including other causes of a delay."""
    next: tuple[str, ...] = ()


class Fit(Base, frozen=True, kw_only=True):
    """Whether one step is fast enough for a product."""

    product: str
    does: str
    """How the product writes: ``appends to a log, with fdatasync``."""
    answer: Fitness
    measured: str
    """``sync p99 1.8 ms, 3 269/s``; without a threshold the commits per second of one client."""
    rate_per_s: Amount | None = None
    """Commits per second of one client. This number and the next two are None in old documents."""
    p99_ns: Count | None = None
    """Of the syncs; also None for fewer than 100 syncs."""
    longest_ns: Count | None = None
    """The longest sync."""
    required: str
    """``p99 < 10 ms``"""
    reasons: tuple[str, ...] = ()
    """Known reasons other than the disk if it is too slow, such as an I/O limit."""
    evidence: tuple[str, ...] = msgspec.field(default=(), name="because")
    """For each reason a line of "label: evidence"."""
    next: tuple[str, ...] = ()
    """What to do about the reasons."""
    step: str
    source: str


class Judgement(Base, frozen=True, kw_only=True):
    """The overall result of all findings. ``sentence`` is what a person reads first."""

    verdict: Verdict
    confidence: Confidence
    sentence: str
    findings: tuple[Finding, ...] = ()
    speed: Speed = Speed()
    fit: tuple[Fit, ...] = ()
