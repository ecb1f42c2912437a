"""The verdict of a run, from its findings. If no rule could judge the run, a note says what is known."""

import errno
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.stack import Level
from fstui.judge.facts.steps import MIN_SYNCS
from fstui.judge.fitness import add_products, product_fits
from fstui.judge.rules import all_rules
from fstui.judge.speed.answer import speed
from fstui.model.judgement import NOT_DURABLE, VERDICTS, Confidence, Finding, Judgement, Verdict
from fstui.model.quantities import count
from fstui.model.run import Evidence
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import cache_off_reports
from fstui.storage.layers.devices.disk import PARTITION, is_virtual
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.devices.nvme import device_file

UNDECIDED = "undecided"
_COUNT_FLUSHES = "Run fsync-rate there: it counts the flushes of each sync."
_SLOW_STORAGE = "Run fsync-rate there: on slow storage, its steps take longer."
_MORE_SECONDS = "Run fsync-rate there with longer steps, for example with '--set seconds=30'."
_AS_ROOT = "Run it again as root: the kernel's trace shows flushes that no device counts."
_OTHER_REMEDY = "Fix the cause of the error, then run again."
_REMEDIES: dict[int | None, str] = {
    errno.ENOSPC: "Free some space on the filesystem, then run again.",
    errno.EDQUOT: "Raise the quota or free some space, then run again.",
    errno.EROFS: "Remount the filesystem read-write, then run again.",
}
_CHECK_ARRAY = (
    "Ask the administrator of the target whether it writes through: on a Linux target, targetcli shows "
    "emulate_write_cache, and fsync-rate can run there."
)
_CONFIDENCE: tuple[Confidence, ...] = ("high", "medium", "low")
_DECIDING_VERDICTS: tuple[Verdict, ...] = (*NOT_DURABLE, "kept", "suspicious")
"""A finding with one of these verdicts decides, in this order. If there is none, the most confident finding decides."""
_Reason = tuple[str, str, tuple[str, ...]]
"""Why no rule could judge the run: title, sentence, next steps."""


def judge(evidence: Evidence) -> Judgement:
    """Return the findings, worst first, and the verdict. Without steps, the configuration alone decides."""
    case = Case(evidence)
    rules = all_rules(with_steps=bool(case.steps.all))
    unordered = (finding for rule in rules for finding in rule(case))
    safe = (replace(finding, next=_safe_next(evidence, finding.next)) for finding in unordered)
    findings = tuple(sorted(safe, key=_order))
    decisive = decisive_finding(findings)
    first_notes = [finding for finding in findings if finding.rule in _preceding_rules() and finding.verdict is None]
    introduction = " ".join(finding.sentence for finding in first_notes)
    verdict: Verdict = (decisive and decisive.verdict) or "cannot-tell"
    basis = decisive or _undecided(case)
    fits = tuple(product_fits(case))
    answer = speed(case, verdict)
    answer = replace(answer, next=_safe_next(evidence, answer.next))
    return Judgement(
        verdict=verdict,
        confidence=basis.confidence,
        sentence=f"{introduction} {basis.sentence}".strip(),
        findings=findings if decisive or not case.steps.all else (*findings, basis),
        speed=add_products(case, answer, fits),
        fit=fits,
    )


def _safe_next(evidence: Evidence, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Remove the names of a simulated disk from the commands in the steps: a real disk may have the same names."""
    target = evidence.target
    if target is None or target.simulated is None:
        return steps
    names = "|".join(re.escape(node.id) for node in target.stack)
    real = [re.sub(rf"/dev/(?:{names})\b", "DEVICE", step.replace(target.mount_point, "DIR")) for step in steps]
    on_simulated = [step for step in real if "simulated" in step]
    on_real = [step for step in real if "simulated" not in step]
    if on_real:  # change only the first step: it may be shown alone, and the others follow it
        first = on_real[0]
        on_real[0] = f"On a real disk, {first[0].lower() if first[:2].istitle() else first[0]}{first[1:]}"
    return (*on_simulated, *on_real)


def decisive_finding(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that the verdict rests on; None if no finding about storage or process has a verdict."""
    judging = [finding for finding in findings if finding.verdict is not None and finding.scope != "step"]
    return min(judging, key=_weight, default=None)


def leading_finding(findings: Sequence[Finding]) -> Finding | None:
    """Return the finding that the verdict rests on, or the note that says why there is none."""
    return decisive_finding(findings) or next((finding for finding in findings if finding.rule == UNDECIDED), None)


def _weight(finding: Finding) -> tuple[int, int, int]:
    verdict = finding.verdict or "cannot-tell"
    first = _DECIDING_VERDICTS.index(verdict) if verdict in _DECIDING_VERDICTS else len(_DECIDING_VERDICTS)
    return first, _CONFIDENCE.index(finding.confidence), VERDICTS.index(verdict)


def _order(finding: Finding) -> tuple[bool, bool, int, int]:
    """Return a sort key: worst verdict first, then by confidence. Findings about one step come later, notes last."""
    is_note = finding.verdict is None
    return (
        is_note,
        finding.scope == "step" or (is_note and finding.rule not in _preceding_rules()),
        VERDICTS.index(finding.verdict) if finding.verdict else len(VERDICTS),
        _CONFIDENCE.index(finding.confidence),
    )


def _preceding_rules() -> frozenset[str]:
    return frozenset(rule.name for rule in all_rules() if rule.precedes_verdict)


def _undecided(case: Case) -> Finding:
    title, sentence, steps = _reason(case)
    next_steps = _safe_next(case.evidence, steps)
    return Finding(
        rule=UNDECIDED, verdict=None, confidence="low", scope="storage", title=title, sentence=sentence, next=next_steps
    )


def _reason(case: Case) -> _Reason:
    if not case.stack.nodes:
        for unseen in (commits.settings for commits in case.commits.all if commits.settings.existing):
            settings = f" Its settings: {', '.join(unseen.settings)}." if unseen.settings else ""
            where = "on another filesystem" if unseen.located else "in a place that is not known"
            sentence = f"{unseen.database} stores its data {where}, so its flushes were not counted.{settings}"
            return f"the data is {where}", sentence, ("Run fstui where the data is stored.",)
        return "nothing is known", "Nothing is known about the storage stack, so nothing can be judged.", ()
    if not case.steps.all:
        subject = "Nothing" if case.stack.faults else "The configuration shows no fault, and nothing"
        sentence = f"{subject} has been measured yet: run fsync-rate to count the flushes of this storage."
        return "not measured", sentence, (_COUNT_FLUSHES,)
    failures = [step.error for step in case.steps.all if step.error]
    if len(failures) == len(case.steps.all):
        sentence = f"Every step failed, so nothing can be judged. First error: {failures[0].text}."
        return "every step failed", sentence, (_REMEDIES.get(failures[0].errno, _OTHER_REMEDY),)
    if not case.steps.synced:
        syncing = [write_step for write_step in case.steps.measured if write_step.sync_method]
        max_syncs = max((write_step.syncs for write_step in syncing), default=0)
        advice = _MORE_SECONDS if max_syncs else _COUNT_FLUSHES
        if max_syncs and all(write_step.settings.enough_ops for write_step in syncing):  # as in a check
            advice = _SLOW_STORAGE
        sentence = (
            f"To judge the flushes, one writer must sync at least {MIN_SYNCS} times in one step. The maximum here "
            f"was {max_syncs}: run fsync-rate{' with more seconds per step' if advice == _MORE_SECONDS else ''}."
        )
        return "too few syncs", sentence, (advice,)
    syncs = sum(write_step.syncs for write_step in case.steps.synced)
    measured_time = words.time_measured(write_step.step for write_step in case.steps.synced)
    established = f"{count(syncs)} syncs returned in {measured_time}, and nothing contradicts durability."
    title, why, steps = _why_unjudged(case)
    return title, f"{established} Not established: {why}", (*steps, words.UNTIL_THEN)


def _why_unjudged(case: Case) -> _Reason:
    top = case.stack.levels[0] if case.stack.levels else None
    if top is None or not top.devices:
        why = "how many flushes arrived, because fstui knows no device of this host that stores this filesystem."
        return "no device is known", why, ("Run fstui on the host that stores the data, or outside the container.",)
    if case.stack.has_unseen_devices:
        why = "what arrived, because the filesystem has devices that are not known."
        return "devices that are not known", why, ("Run fstui on the host, where these devices are known.",)
    accounts = [level_accounts[0] for level_accounts in map(case.flushes.accounts, case.steps.synced) if level_accounts]
    return _why_at_topmost_level(case, top, accounts)


def _why_at_topmost_level(case: Case, level: Level, accounts: list[FlushAccount]) -> _Reason:
    where = words.devices(level.devices)
    write_through = tuple(device for device in level.devices if device.write_cache == "write through")
    has_counts = any(account.counted is not None for account in accounts)
    if write_through == level.devices or (write_through and has_counts):
        names, have = words.devices(write_through), "have" if write_through[1:] else "has"
        why = (
            f"that {names} {have} no volatile cache. The only evidence is the kernel's setting"
            f"{_own_reports(write_through)}: the kernel considers {names} “write through” and sends no flush."
        )
        return f"nothing confirms that {names} {have} no cache", why, tuple(_cache_checks(case, write_through))
    if not has_counts:
        traced = any(step.trace for step in case.steps.all)
        return f"{where}: flushes not counted", _why_not_counted(level), (words.CUT_THE_POWER if traced else _AS_ROOT,)
    why = f"that a flush reaches {where}: these steps cause no flush that the device counts."
    return "no flush is expected", why, ("Run a step with fdatasync, for example fsync-rate.",)


def _own_reports(devices: tuple[Node, ...]) -> str:
    """Return a clause that names the devices that themselves report no volatile cache; empty if none does."""
    reporting = tuple(device for device in devices if cache_off_reports(device))
    return f", and what {words.devices(reporting)} {'report' if reporting[1:] else 'reports'}" if reporting else ""


def _cache_checks(case: Case, devices: tuple[Node, ...]) -> Iterator[str]:
    """Yield what the user can do to check whether these devices have a volatile cache."""
    first = devices[0]
    if link(first.link).own_network:
        yield _CHECK_ARRAY
    elif case.host.virtualization and (is_virtual(first) or link(first.link).may_be_an_array):
        yield from words.host_advice(case.host)
    elif first.link == "nvme":
        yield f"Run fstui as root on this host: it then reads vwc from {device_file(first)}."
    elif first.link in {"sata", "sas", "scsi"}:
        yield f"As root on this host: 'smartctl -g wcache /dev/{first.id}', or 'hdparm -W /dev/{first.id}'."
    else:
        yield words.CUT_THE_POWER


def _why_not_counted(level: Level) -> str:
    where = words.devices(level.devices)
    if all(device.counted for device in level.devices):
        between = [node for node in level.path if node not in level.devices and node.kind != PARTITION.name]
        layers = words.join_words(f"{node.id} ({node.kind})" for node in between) or "the filesystem"
        verb = "pass" if len(between) > 1 else "passes"
        return f"whether {layers} {verb} flushes on: the counters of {where} do not show it."
    if any(kind(device.kind).counts_flushes for device in level.devices):
        return (
            f"what arrived, because no flushes are counted for {where} (a kernel before 5.5, or queue/iostats is 0: "
            "write 1 to it and run again)."
        )
    reasons = "; ".join(f"{device.id}: {device.reason}" for device in level.devices if device.reason)
    return f"what arrived, because no request queue counts flushes for {where}.{f' {reasons}.' if reasons else ''}"
