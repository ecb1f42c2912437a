"""Choose and order findings, for all formats and screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fstui.model.judgement import TOO_SLOW, VERDICTS, Finding, Judgement, Verdict
from fstui.model.quantities import percent
from fstui.model.storage import Target
from fstui.report.stack import in_memory
from fstui.storage.layers import kind

if TYPE_CHECKING:
    from fstui.model.run import Run
    from fstui.model.steps import Step

_GOOD: tuple[Verdict, ...] = ("consistent", "kept")
FREE_OF_DEFECTS: tuple[Verdict, ...] = (*_GOOD, "plausible")
_FULL_SHARE, _FULL_BYTES = 0.01, 1 << 30
_NEARLY_FULL_SHARE, _NEARLY_FULL_BYTES = 0.05, 10 << 30
"""A filesystem is full, or nearly full, if less is free than this share of its size and less than this many bytes."""


def leading_finding(judged: Run | Judgement) -> Finding | None:
    """Return the finding that the verdict is based on; without a verdict, the note that says why, or None."""
    from fstui.judge import leading_finding  # noqa: PLC0415  deferred: the first screen does not need the rules

    return leading_finding(judged.findings)


def deciding_step(run: Run) -> Step | None:
    """Return the step that the verdict quotes, or else is based on, or the step with the most syncs."""
    finding, with_ops = leading_finding(run), [step for step in run.steps if step.ops]
    named = [step for step in with_ops if finding and step.name in finding.steps]
    return max(quoted_steps(run.sentence, with_ops) or named or with_ops, key=lambda step: step.syncs, default=None)


def quoted_steps(sentence: str, steps: Sequence[Step]) -> list[Step]:
    """Return the steps whose rate the sentence quotes, such as ``12 173 syncs a second``."""
    from fstui.judge import words  # noqa: PLC0415  deferred: the first screen does not need the rules

    return [step for step in steps if f" {words.syncs_a_second(step.syncs, step)}" in sentence]


def judged_steps(run: Run) -> frozenset[str]:
    """Return the names of the steps that the verdict is based on; empty if these are all steps or none."""
    finding, measured = leading_finding(run), {step.name for step in run.steps if step.ops}
    judged = measured.intersection(finding.steps) if finding and finding.verdict else measured
    return frozenset(judged if judged != measured else ())


def ordered(run: Run) -> tuple[Finding, ...]:
    """Return the finding that the verdict is based on, then the others in the judge's order."""
    deciding = leading_finding(run)
    return tuple(sorted(run.findings, key=lambda finding: finding is not deciding))


def without_power_cut(steps: Sequence[str]) -> list[str]:
    from fstui.judge import words  # noqa: PLC0415  deferred: the first screen does not need the rules

    return [step for step in steps if step != words.CUT_THE_POWER]


def next_steps(run: Run) -> tuple[str, ...]:
    """Return what to do next: about the speed if the storage is only slow, otherwise about the verdict."""
    finding = leading_finding(run)
    about_verdict, about_speed = finding.next if finding else (), run.speed.next
    slow = run.speed.answer in TOO_SLOW and run.verdict in FREE_OF_DEFECTS
    return (about_speed or about_verdict) if slow else (about_verdict or about_speed)


def flags(judgement: Judgement | None) -> tuple[Finding, ...]:
    """Return the defects of a filesystem's configuration and the findings whose verdict is cannot-tell, worst first."""
    findings = judgement.findings if judgement else ()
    return tuple(finding for finding in findings if finding.verdict and finding.verdict not in _GOOD)


def worst_finding(judgement: Judgement | None) -> Finding | None:
    findings = flags(judgement) or (judgement.findings if judgement else ())
    return next(iter(findings), None)


def flag(target: Target, judgement: Judgement | None) -> Finding | None:
    """Return the finding that the list shows as the flag; None if the filesystem is in memory, which is no defect."""
    return None if in_memory(target) else worst_finding(judgement)


def verdict(target: Target, judgement: Judgement | None) -> Verdict | None:
    """Return the verdict on the configuration; None if it has no defect, or if the filesystem is in memory."""
    if target.silent_s is not None:
        return "cannot-tell"
    if in_memory(target):
        return None
    return next((finding.verdict for finding in flags(judgement)), None)


def trouble(target: Target) -> str:
    """Return "full", "97 % full" or "read-only"; empty if data can be written and enough space is free."""
    if kind(target.fstype).read_only:
        return ""
    if "ro" in target.mount_options and not in_memory(target):  # a read-only tmpfs is no fault
        return "read-only"
    space = target.space
    if space and space.free_bytes < min(_FULL_SHARE * space.total_bytes, _FULL_BYTES):
        return "full"
    if space and space.free_bytes < min(_NEARLY_FULL_SHARE * space.total_bytes, _NEARLY_FULL_BYTES):
        return f"{percent(1 - space.free_bytes / space.total_bytes)} full"
    return ""


def severity(target: Target, judgement: Judgement | None) -> tuple[int, bool]:
    """Return a sort key: worst first, filesystems that are always in memory last."""
    worst = verdict(target, judgement) or ("suspicious" if trouble(target) else None)
    return (VERDICTS.index(worst) if worst else len(VERDICTS)), in_memory(target)


def judges_one_step(finding: Finding) -> bool:
    """Return whether the finding judges a single step, which must not be mistaken for a verdict on the disk."""
    return finding.scope == "step" and finding.verdict is not None


def title(finding: Finding) -> str:
    return f"{finding.title}, not part of the verdict" if judges_one_step(finding) else finding.title
