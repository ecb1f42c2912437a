"""Conditions of the run that limit what its measurements show."""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.steps import has_rate
from fstui.judge.facts.traced import TRACE, other_requesters
from fstui.model.quantities import count, counted, rate, ratio, seconds, size


@rule(order=110)
def disturbed(case: Case) -> Iterator[Conclusion]:
    """* cannot-tell, high confidence: the storage changed
    * a note: fstui was delayed

    ## What it means
    The storage changed during the run, or fstui itself was delayed. fstui does not judge a step in which the storage
    changed. If fstui was delayed in a step, it does not judge the rate of this step.

    ## How it was measured
    - The storage changed: the stack before or after a step was different from the stack before the run.
    - fstui was delayed: the process that writes the test data waited for fstui's main process for more than 1 % of the
      step.

    ## What it proves, and what it does not
    Both cases say nothing about the disk. If the storage changed in some steps, the other steps can still
    show a fault, but they are not enough to call the storage durable. If fstui was delayed, the counted flushes and
    bytes are still valid.

    ## What to do next
    Run again while nothing changes the storage and the host is less busy, or with longer steps (`--set seconds=10`).
    """
    all_steps = counted(len(case.steps.all), "step")
    changed = [step for step in case.steps.all if step.changed]
    if changed:
        changes = list(dict.fromkeys(line for step in changed for line in step.changed))
        yield Conclusion(
            title=f"the storage changed in {counted(len(changed), 'step')}: {changes[0]}",
            sentence=f"The storage changed before or during {count(len(changed))} of {all_steps} "
            f"({words.join_words(changes)}); {'that step is' if len(changed) == 1 else 'those steps are'} not judged.",
            verdict="cannot-tell",
            steps=changed,
            evidence=(f"{step.name}: {line}" for step in changed for line in step.changed),
            next=("Run again while nothing changes the storage.",),
        )
    delayed = [step for step in case.steps.all if not has_rate(step) and not step.changed]
    if delayed:
        yield Conclusion(
            title=f"fstui was delayed in {count(len(delayed))} of {all_steps}",
            sentence=f"fstui itself was delayed while measuring {words.join_words(step.name for step in delayed)}, so "
            f"{'the rate of that step is' if len(delayed) == 1 else 'the rates of those steps are'} not judged.",
            scope="step",
            steps=delayed,
            evidence=(
                f"{step.name}: delayed {seconds(step.delayed_ns / 1e9)} of {seconds(step.elapsed_s)}"
                for step in delayed
            ),
            next=("Run again when the machine is less busy, or with more seconds per step ('--set seconds=10').",),
        )


@rule(order=60)
def other_writers(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    Other processes write to the same devices, so the counters include their flushes and bytes.

    ## How it was measured
    One of these is true:

    - Other processes wrote to the devices while fstui was idle: in the second before the run, or between the steps.
    - In a step, over 5 % more flushes or bytes arrived than expected.

    fstui finds the writers with `/proc/PID/io`, if it may read that file.

    ## What it proves, and what it does not
    Other processes only add flushes. If too few flushes arrived, some were not sent or were dropped, whatever other
    processes did. If enough arrived, this is evidence only in two cases:

    - The kernel's trace shows which process sent each flush.
    - At most 5 % more flushes and bytes arrived than expected, and while fstui was idle, the devices' flush rate was at
      most 5 % of fstui's sync rate in the steps.

    In all other cases, the rule `flushes-arrive` can give the verdict "cannot-tell".

    ## What to do next
    Run again as root, when other processes write less, or on another disk.
    """
    while_idle = [
        f"{busy.device} {rate(busy.flushes_per_s)} flushes/s, {rate(busy.writes_per_s)} writes/s"
        for busy in case.other_writers.busy_devices
    ]
    noisy = case.flushes.noisy_accounts
    others = other_requesters(top.trace for top, *_ in case.flushes.synced_accounts if top.trace)
    if while_idle or noisy:
        yield Conclusion(
            title=f"others while idle: {while_idle[0]}"
            if while_idle
            else f"more flushes or bytes arrived than expected, during {noisy[0].step.name}",
            sentence=f"{_who_wrote(case, while_idle)} {_what_flushes_show(case)}",
            confidence="low",
            steps=(account.step for account in noisy),
            evidence=(
                *(f"while idle: {line}" for line in while_idle),
                *map(_surplus, noisy),
                *((f"flushes during the steps: {others} ({TRACE})",) if others else ()),
                *(
                    f"writer: {writer.name} ({writer.pid}), {size(writer.written_bytes)}"
                    for writer in case.other_writers.writers
                ),
            ),
        )


def _who_wrote(case: Case, while_idle: list[str]) -> str:
    if while_idle:
        return f"While fstui was idle, other processes wrote to the same devices ({'; '.join(while_idle)})."
    devices = case.flushes.noisy_accounts[0].devices
    quiet = "" if case.other_writers.flushes_per_s(devices) is None else ", though not while fstui was idle"
    return (
        f"More flushes or bytes arrived at {words.devices(devices)} than expected. Either another process wrote "
        f"there{quiet}, or the filesystem or a lower layer adds writes of its own."
    )


def _what_flushes_show(case: Case) -> str:
    proof, noisy = case.flushes.proof, case.flushes.noisy_accounts
    accounts = [levels[proof.depth - 1] for levels in proof.steps] if proof and proof.depth else noisy
    if any(account.trace_is_complete for account in accounts):
        return "The kernel's trace distinguishes their flushes from fstui's."
    if any(account.counters_are_complete for account in accounts):
        return "The verdict is based only on steps and layers where at most 5 % more arrived than expected."
    return "fstui cannot exclude these flushes: too few flushes still prove a fault, but enough flushes prove nothing."


def _surplus(account: FlushAccount) -> str:
    surplus = f", {size(account.surplus_bytes)} more than was written" if account.surplus_bytes else ""
    flushes = f"{ratio(account.max_per_sync)} flushes from all processes per sync of fstui"
    received = f"{flushes} ({words.expected_text(account.expected)} expected){surplus}"
    return f"{account.step.name}: at {words.devices(account.devices)}, {received}"


@rule(order=30, precedes_verdict=True)
def stack_state(case: Case) -> Iterator[Conclusion]:
    """*a note: it is shown before the verdict, and does not change it*

    ## What it means
    Part of the storage stack is degraded or broken, or is being rebuilt or moved. Measurements in this state do not
    show how the healthy stack behaves.

    ## How it was measured
    When fstui read the stack, the kernel reported one of these:

    - an md array that is degraded or resyncing (`/sys/block/mdN/md/`)
    - errors that ext4 or btrfs counted (`/sys/fs/ext4/*/errors_count`, `/sys/fs/btrfs/`)
    - a filesystem that was forced read-only (`/proc/self/mountinfo`)
    - a path that is offline
    - a disk that was removed ("device: gone"), or a medium that was removed ("size: 0")
    - data that is being moved (btrfs replace and balance, pvmove)

    ## What it proves, and what it does not
    The note does not say whether syncs are durable.

    ## What to do next
    Look at `dmesg`, repair the stack, and run again.
    """
    faults = case.stack.faults
    if faults:
        texts = [words.evidence_line(node, state.what, state.value) for node, state in faults]
        yield Conclusion(
            title=texts[0],
            sentence=f"The stack is degraded or faulty ({words.join_words(texts)}). What is measured in this state "
            "does not show how the stack behaves when it is healthy.",
            evidence=(words.reading(node, state) for node, state in faults),
            next=("Look at the kernel's log ('dmesg'), repair the stack, then run again.",),
        )


@rule(order=120)
def another_cgroup(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    fstui measured in the I/O cgroup of another process, usually a database (option `--like`). The I/O limits of that
    cgroup also applied to fstui. The measured rates are therefore subject to the same limits as the process.

    ## How it was measured
    fstui read these files at the start of the run:

    - `/proc/PID/cgroup`: the cgroup of the process
    - `io.max` (cgroup v2) or `blkio.throttle.*` (v1): the limits of this cgroup and of the cgroups above it
    - `/proc/PID/status`: whether a seccomp filter checks the system calls of the process. fstui cannot see whether this
      filter fakes syncs.

    ## What it proves, and what it does not
    The note does not show whether the process's syncs are durable. fstui shared only the cgroup with the process. A
    seccomp filter or a library may fake the syncs of the process, or the process may use other mounts. fstui does not
    notice if a limit changes during the run.

    ## What to do next
    Run the same scenario without `--like`, and compare the rates. If the rates differ a lot, the limit of the cgroup
    determines the rate, not the disk.
    """
    process = case.evidence.cgroup_process
    if process is None:
        return
    name, has_filter = words.process_label(process), process.seccomp == "filter"
    limits = counted(len(process.io_limits), "I/O limit") if process.io_limits else "no I/O limits"
    filter_note = ""
    if has_filter:
        filter_note = f" A seccomp filter checks the system calls of {name}, and could fake its syncs."
    yield Conclusion(
        title=f"measured in the I/O cgroup of {name}",
        sentence=f"The probes ran in the I/O cgroup of {name}, which has {limits}.{filter_note}",
        scope="process",
        evidence=(
            f"its cgroup: {process.cgroup or 'not read'}",
            *words.io_limits(process, "its limit"),
            *words.io_limits(case.evidence.process, "limit of fstui's own cgroup"),
            *((f"its seccomp state: filter (/proc/{process.pid}/status)",) if has_filter else ()),
        ),
        next=("Run the same scenario without --like, and compare.",) if process.io_limits else (),
    )
