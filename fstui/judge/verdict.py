"""The verdict of a run, from its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.stack import Level
from fstui.judge.facts.steps import MIN_SYNCS
from fstui.judge.fitness import fits
from fstui.judge.rules import all_rules
from fstui.judge.speed import speed
from fstui.model.judgement import NOT_DURABLE, VERDICTS, Confidence, Finding, Judgement, Verdict
from fstui.model.run import Evidence
from fstui.storage.layers import kind
from fstui.storage.layers.devices.disk import PARTITION

_CONFIDENCE: tuple[Confidence, ...] = ("high", "medium", "low")
_FIRST: tuple[Verdict, ...] = (*NOT_DURABLE, "kept", "suspicious")
"""These decide in this order. Of the other verdicts the most confident decides."""


def judge(evidence: Evidence) -> Judgement:
    """Return the findings, worst first, and the verdict. Without steps, the configuration alone decides."""
    case = Case(evidence)
    found = order_of_findings(finding for rule in all_rules() for finding in rule(case))
    ground = decisive(found)
    before = [finding for finding in found if finding.rule in _said_first() and finding is not ground]
    first = " ".join(finding.sentence for finding in before)
    verdict: Verdict = (ground and ground.verdict) or "cannot-tell"
    return Judgement(
        verdict=verdict,
        confidence=ground.confidence if ground else "low",
        sentence=f"{first} {ground.sentence if ground else _why_undecided(case)}".strip(),
        findings=found,
        speed=speed(case, verdict),
        fit=tuple(fits(case)),
    )


def decisive(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that the verdict rests on; None if no finding about storage or process has a verdict."""
    judging = [finding for finding in findings if finding.verdict is not None and finding.scope != "step"]
    return min(judging, key=_weight, default=None)


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


def _why_undecided(case: Case) -> str:
    """Return one or two sentences: why no rule could judge the storage, and what to run."""
    if not case.stack.nodes:
        for unseen in (each.promised for each in case.commits.all if each.promised.existing):
            settings = f" Its settings: {', '.join(unseen.settings)}." if unseen.settings else ""
            return f"The storage of {unseen.database} is not on this host, so its flushes are not known.{settings}"
        return "Nothing is known about the storage stack, so nothing can be judged."
    if not case.steps.all:
        return "The configuration shows no fault, and nothing was measured yet: run fsync-rate to count its flushes."
    if not case.steps.synced:
        return _unsynced(case)
    covered = words.time_measured(done.step for done in case.steps.synced)
    return f"In {covered} nothing contradicts durability, and nothing shows it: {_why(case)}"


def _unsynced(case: Case) -> str:
    failures = [step.error for step in case.steps.all if step.error]
    if len(failures) == len(case.steps.all):
        return f"Every step failed, the first with {failures[0].said}: nothing can be judged."
    return (
        f"No step was completed in which one writer synced at least {MIN_SYNCS} times, so no flushes could be counted: "
        "run fsync-rate, or allow more seconds."
    )


def _why(case: Case) -> str:
    top = case.stack.levels[0] if case.stack.levels else None
    if top is None or not top.devices:
        return "no device on this host is known to count flushes for it."
    if case.stack.has_unseen_devices:
        return "the filesystem has devices that are not known, so what arrived is not known."
    tops = [accounts[0] for done in case.steps.synced if (accounts := case.flushes.accounts(done))]
    return _of_topmost_level(top, tops)


def _of_topmost_level(level: Level, accounts: list[FlushAccount]) -> str:
    where = words.devices(level.devices)
    if all(account.counted is None for account in accounts):
        return _uncounted(level)
    through = tuple(device for device in level.devices if device.write_cache == "write through")
    if all(account.expected == (0, 0) for account in accounts) and through != level.devices:
        return f"no flush that {where} would count is expected in these steps: run a step with fdatasync."
    return (
        f"the kernel considers {words.devices(through or level.devices)} “write through” and sends no flush that could "
        "be counted. Nothing but this setting says that there is no volatile cache."
    )


def _uncounted(level: Level) -> str:
    where = words.devices(level.devices)
    if all(device.counted for device in level.devices):
        between = [node for node in level.path if node not in level.devices and node.kind != PARTITION.name]
        layers = words.listed(f"{node.id} ({node.kind})" for node in between) or "the filesystem"
        return (
            f"how {layers} {'pass' if len(between) > 1 else 'passes'} on a flush does not show in what {where} counted."
        )
    if any(kind(device.kind).counts_flushes for device in level.devices):
        return f"{where} counts no flushes (a kernel before 5.5, or queue/iostats is 0: echo 1 there and run again)."
    reasons = "; ".join(f"{device.id}: {device.because}" for device in level.devices if device.because)
    return f"{where} has no request queue that counts flushes.{f' {reasons}.' if reasons else ''}"
