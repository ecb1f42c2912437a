"""What is missing where no rule could say anything about the storage."""

from __future__ import annotations

from fstui.judge import words
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.stack import Level
from fstui.judge.facts.steps import MIN_SYNCS
from fstui.storage.layers import kind
from fstui.storage.layers.devices.disk import PARTITION


def why_undecided(case: Case) -> str:
    """One sentence, or two: why this evidence decides nothing, and what would."""
    if not case.stack.nodes:
        for unseen in (each.promised for each in case.commits.all if each.promised.existing):
            said = f" It says: {', '.join(unseen.settings)}." if unseen.settings else ""
            return f"The storage of {unseen.database} is not seen here: what its commits come to is not known.{said}"
        return "Nothing is known about the stack beneath, so nothing can be judged."
    if not case.steps.all:
        return (
            "The configuration shows no fault, and nothing was measured yet: run fsync-rate to follow its syncs down."
        )
    if not case.steps.synced:
        return _unsynced(case)
    covered = words.time_measured(done.step for done in case.steps.synced)
    return f"In {covered} nothing contradicts durability, and nothing shows it: {_why(case)}"


def _unsynced(case: Case) -> str:
    failures = [step.error for step in case.steps.all if step.error]
    if len(failures) == len(case.steps.all):
        return f"Every step failed, the first with {failures[0].said}: nothing of it is judged."
    return (
        f"No step was measured to its end in which one writer synced at least {MIN_SYNCS} times, so there is "
        "nothing to follow down: run fsync-rate, or give it more seconds."
    )


def _why(case: Case) -> str:
    top = case.stack.levels[0] if case.stack.levels else None
    if top is None or not top.devices:
        return "no device of this box that could count flushes is known to lie beneath."
    if case.stack.has_unseen_devices:
        return "not all devices beneath are seen, so what arrived is not known."
    tops = [way[0] for done in case.steps.synced if (way := case.flushes.accounts(done))]
    return _of_the_topmost(top, tops)


def _of_the_topmost(level: Level, accounts: list[FlushAccount]) -> str:
    where, filesystem = words.devices(level.devices), words.named(level.filesystem)
    if all(account.counted is None for account in accounts):
        return _uncounted(level)
    if all(account.expected is None for account in accounts):
        return f"how many flushes {filesystem} is expected to send for a sync is not known."
    through = tuple(device for device in level.devices if device.write_cache == "write through")
    if all(account.expected == (0, 0) for account in accounts) and through != level.devices:
        return f"with these steps no flush that {where} would count is expected: run a step with fdatasync."
    return (
        f"the kernel takes {words.devices(through or level.devices)} for “write through”: no flush is "
        "sent that could be counted, and that word alone says that there is no volatile cache."
    )


def _uncounted(level: Level) -> str:
    """Whose doing it is that no flush is known to have arrived: a layer's between, the kernel's, the driver's."""
    where = words.devices(level.devices)
    if all(device.counted for device in level.devices):
        between = [node for node in level.path if node not in level.devices and node.kind != PARTITION.name]
        layers = words.listed(f"{node.id} ({node.kind})" for node in between) or "the filesystem"
        make = "make" if len(between) > 1 else "makes"
        return f"what {layers} {make} of a flush cannot be told from what {where} counted."
    if any(kind(device.kind).counts_flushes for device in level.devices):
        return f"{where} counts no flushes (a kernel before 5.5, or queue/iostats is 0: echo 1 there and run again)."
    return f"no flushes are counted at {where}: no queue of requests is there. {_own_words(level)}".strip()


def _own_words(level: Level) -> str:
    """What each device says of a sync, by what it is."""
    said = "; ".join(f"{device.id}: {device.because}" for device in level.devices if device.because)
    return f"{said}." if said else ""
