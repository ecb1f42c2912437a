"""Which findings are shown, and in which order: the same in every face."""

from __future__ import annotations

from fstui.model.judgement import VERDICTS, Finding, Judgement, Verdict
from fstui.model.run import Run
from fstui.model.storage import Target
from fstui.report.stack import in_memory

_GOOD: tuple[Verdict, ...] = ("consistent", "kept")


def leading(judged: Run | Judgement) -> Finding | None:
    """The finding that the verdict rests on; None where it rests on the lack of any."""
    from fstui.judge import decisive  # noqa: PLC0415  the first frame comes without the rules

    return decisive(judged.findings)


def ordered(run: Run) -> tuple[Finding, ...]:
    """What the verdict rests on, then the others as the judge has put them."""
    deciding = leading(run)
    return tuple(sorted(run.findings, key=lambda finding: finding is not deciding))


def flags(judgement: Judgement | None) -> tuple[Finding, ...]:
    """What the configuration alone has against a filesystem, the worst first; also where it cannot tell."""
    found = judgement.findings if judgement else ()
    return tuple(finding for finding in found if finding.verdict and finding.verdict not in _GOOD)


def first(judgement: Judgement | None) -> Finding | None:
    """What is named where there is room for one: the worst flag, else a note."""
    found = flags(judgement) or (judgement.findings if judgement else ())
    return next(iter(found), None)


def verdict(target: Target, judgement: Judgement | None) -> Verdict | None:
    """What is wrong already, before a byte is written; None where nothing is known to be.

    Memory by its very type is called so, and is no fault of the box.
    """
    if target.silent_s is not None:
        return "cannot-tell"
    if in_memory(target):
        return None
    return next((finding.verdict for finding in flags(judgement)), None)


def severity(target: Target, judgement: Judgement | None) -> tuple[int, bool]:
    """To sort by: the worst first, what is in memory by its very type last."""
    found = verdict(target, judgement)
    return (VERDICTS.index(found) if found else len(VERDICTS)), in_memory(target)


def title(finding: Finding) -> str:
    """Its title; a verdict that speaks of one step only says so, lest it be taken for the disk's."""
    of_a_step = finding.scope == "step" and finding.verdict is not None
    return finding.title + (" (that step only)" if of_a_step else "")
