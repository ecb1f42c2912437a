"""* consistent, medium or low confidence: the expected flushes arrived
* cannot-tell, low confidence: fstui cannot tell whose flushes arrived

## What it means
The named devices received the expected flushes for each sync that fstui counted. If other processes also wrote, only
traced syncs were counted.

## How it was measured
fstui read the flush counters of all layers (field 16 of `/sys/block/X/stat`) before and after each step with one
writer. For an overwrite with fdatasync, a filesystem is expected to send:

- ext4, XFS, and ZFS (to the devices of its intent log): 1 flush
- btrfs: 2 flushes; if the device supports FUA, 1 flush and 1 FUA write
- ext4 with `data=journal`: 2 or 3 flushes (2 on Linux 6.1, 3 on Linux 6.18)

## What it proves, and what it does not
No layer above the driver dropped flushes in these steps. A drive, a bridge or a host may still ignore them (see
`flush-cost`). Confidence is medium if each lowest device is known to execute flushes or to lose nothing in a power
cut.

Only root can read the kernel's trace, which shows which process sent each flush. Without the trace, or if it covers
only the start of a fast step, the verdict is "cannot-tell" in two cases:

- In a step, over 5 % more flushes (untraced: or bytes) arrived than expected.
- Before a step or at its start, others flushed at over 5 % of the sync rate.

## What to do next
Run again as root, or on an idle disk. Stronger evidence: `fstui powercut`.

## Details
- fstui tolerates missing flushes of one sync, or of 0.2 % of the syncs. If a range such as 2 to 3 is expected, 10 % of
  the smaller number may be missing.
- A stripe or mirror sends each flush to all members. Multipath uses one path.
"""

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.composition import total_flushes
from fstui.judge.facts.run_flushes import Proof
from fstui.judge.facts.step_counts import StepCounts
from fstui.judge.facts.traced import TRACE, other_requesters
from fstui.measure.kinds.servers import COMMANDS
from fstui.model.quantities import count, rate, size
from fstui.storage.layers import kind


@rule(order=30)
def flushes_arrive(case: Case) -> Iterator[Conclusion]:
    proof = case.flushes.proof
    if proof and proof.depth:
        yield _arrived(case, proof)
    elif proof and proof.is_noisy:
        yield _noisy(case, [accounts[0] for accounts in proof.steps])


def _arrived(case: Case, proof: Proof) -> Conclusion:
    level = proof.depth - 1
    complete = [accounts for accounts in proof.steps if accounts[level].outcome == "complete"]
    noisy = [accounts for accounts in complete if accounts[level].others_wrote]
    # prefer steps whose flushes were counted: devices count no FUA writes, so steps with FUA writes only add evidence
    steps = noisy or [accounts for accounts in complete if accounts[level].counters_are_complete] or complete
    deepest = [accounts[level] for accounts in steps]
    first, arrival = deepest[0], deepest[0].arrival
    where = words.devices(arrival.devices)
    per_sync = words.range_text([account.arrival.per_sync for account in deepest])
    unproven = _unproven_below([accounts[proof.depth] for accounts in proof.steps if proof.depth < len(accounts)])
    idle_unknown = first.other_flushes_per_s is None and not arrival.trace
    total_steps = sum(write_step.syncs > 0 for write_step in case.steps.write_steps)
    basis = words.time_judged([account.arrival.part(account.step) for account in deepest], total_steps)
    verified = case.lowest_devices.verified and (arrival.trace is None or arrival.devices == first.devices)
    return Conclusion(
        title=f"{per_sync} flushes per sync at {where}",
        sentence=f"{_flushes_clause(deepest, per_sync)} to {where}"
        f"{_attribution(case, deepest)}. {_idle_sentence(deepest)}{unproven}This is based on {basis}; "
        "only a power cut proves more."
        f"{'' if unproven else case.lowest_devices.doubt(excluded=first.devices)}",
        verdict="consistent",
        confidence="medium" if verified and not (unproven or idle_unknown) else "low",
        steps=[account.step for account in deepest],
        evidence=(
            *(account.flush_line for accounts in steps for account in accounts[: proof.depth]),
            *(accounts[0].flush_line for accounts in complete if accounts not in steps),
            *(("idle: not measured, so other writers cannot be excluded",) if idle_unknown else ()),
        ),
        next=(*words.provider_advice(first.devices), *words.host_advice(case.host), words.CUT_THE_POWER),
    )


def _flushes_clause(accounts: Sequence[FlushAccount], per_sync: str) -> str:
    arrivals = [account.arrival for account in accounts]
    syncs, expected = count(sum(arrival.syncs for arrival in arrivals)), arrivals[0].expected
    part = " traced" if any(arrival.trace for arrival in arrivals) else ""
    all_arrived = all(arrival.flushes >= arrival.syncs for arrival in arrivals)
    if per_sync == "1.00" and expected == (1, 1) and all_arrived:
        return f"Each of {syncs}{part} syncs sent one flush"
    return f"{syncs}{part} syncs sent {per_sync} flushes each ({words.expected_text(expected)} expected)"


def _attribution(case: Case, accounts: Sequence[FlushAccount]) -> str:
    """Return a clause: the flushes that the trace attributes to others, or without a trace the bytes that arrived."""
    traced = [account.trace for account in accounts if account.arrival.trace and account.trace]
    if not traced:
        return _arrived_bytes(case, accounts)
    others = other_requesters(traced)
    others_clause = f"; {others}" if others else ""
    lower_clause = ""
    if traced[0].devices != accounts[0].devices:
        where = words.devices(accounts[0].devices)
        lower_clause = f"; further down, at {where}, its flushes cannot be identified"
        if all(total == (0, 0) for total in (total_flushes(account.devices, account.step) for account in accounts)):
            lower_clause = f"; further down, no flush reached {where}"
    return f"{others_clause}{lower_clause}"


def _arrived_bytes(case: Case, accounts: Sequence[FlushAccount]) -> str:
    # a copy-on-write filesystem writes 3 to 9 times as many bytes, so a sufficient number proves nothing
    copies = kind(accounts[0].level.filesystem.kind).copies_on_write
    counts = StepCounts(case)
    if any(counts.bytes_ratio(account.step) is None for account in accounts):  # other processes may have written them
        return ""
    if copies or any(account.expected_bytes.low < account.step.bytes for account in accounts):
        return ""
    written = sum(account.step.bytes for account in accounts)
    arrived = sum(account.arrived_bytes for account in accounts)
    return f", and {f'all {size(written)}' if arrived >= written else f'{size(arrived)} of {size(written)}'} arrived"


def _idle_sentence(accounts: Sequence[FlushAccount]) -> str:
    reached = {node.id for account in accounts for node in account.reached_devices}
    idle = words.join_words(node.id for node in accounts[0].devices if node.id not in reached)
    return f"Nothing reached {idle} in these steps. " if idle else ""


def _unproven_below(accounts: Sequence[FlushAccount]) -> str:
    if not accounts:
        return ""
    where = words.devices(accounts[0].level.devices) or words.label(accounts[0].level.filesystem)
    complete = sum(account.outcome == "complete" for account in accounts)
    if complete:
        return (
            f"Further down, at {where}, all flushes arrived in {complete} of {len(accounts)} steps; that is not "
            "proven for every step. "
        )
    if any(account.others_wrote for account in accounts):
        return f"Further down, at {where}, other processes also wrote, so nothing is proven there. "
    if any(account.counted is None for account in accounts):
        return f"Further down, no flushes are counted for {where}, so nothing is proven there. "
    if any(account.expected == (0, 0) for account in accounts):
        return f"Further down, no flush is expected at {where}: the kernel considers it “write through”. "
    return f"Further down, at {where}, the expected flushes are not known, so nothing is proven there. "


def _noisy(case: Case, accounts: Sequence[FlushAccount]) -> Conclusion:
    first = accounts[0]
    where = words.devices(first.devices)
    per_sync = words.range_text([account.max_per_sync for account in accounts])
    other_process = f"Another process wrote to {where} during the run"
    cause = f"{other_process}, or a layer between filesystem and disk adds flushes of its own"
    if first.other_flushes_per_s and any(account.others_flush_often for account in accounts):
        per_s = rate(first.other_flushes_per_s)
        cause = f"Other processes write to {where} ({per_s} flushes/s while fstui was idle)"
    surplus = sum(account.surplus_bytes for account in accounts)
    more_bytes = f", and {size(surplus)} more than was written" if surplus else ""
    return Conclusion(
        title=f"{per_sync} flushes per sync at {where}, not all fstui's own",
        sentence=f"{cause}. In {words.time_measured(account.step for account in accounts)}, {per_sync} flushes arrived "
        f"per sync ({words.expected_text(first.expected)} expected){more_bytes}: {_why_inconclusive(accounts)}.",
        verdict="cannot-tell",
        confidence="low",
        steps=[account.step for account in accounts],
        evidence=[account.flush_line for account in accounts],
        next=(_advice_on_others(case, where),),
    )


def _why_inconclusive(accounts: Sequence[FlushAccount]) -> str:
    if any(account.others_may_hide_missing for account in accounts):
        return (
            f"{TRACE} covers only the start of fast steps, and flushes of other processes may hide missing ones later"
        )
    own_per_sync = [account.arrival.per_sync for account in accounts if account.arrival.trace]
    if not own_per_sync:
        return "fstui's own flushes cannot be distinguished"
    own = f"fstui itself requested {words.range_text(own_per_sync)} of them, according to {TRACE}"
    return f"{own}, and a kernel thread or another process may have requested the rest for fstui"


def _advice_on_others(case: Case, where: str) -> str:
    all_writers, untraced = case.other_writers.writers, case.evidence.untraced
    advice = f"Run again when other processes write less to {where}, or on another disk."
    if untraced:
        advice = (
            f"Run again on another disk, or with {TRACE}, which distinguishes fstui's own flushes. This run had no "
            f"trace: {untraced}."
        )
    if servers := words.join_words(dict.fromkeys(writer.name for writer in all_writers if writer.name in COMMANDS)):
        advice = f"You need not stop {servers}: 'fstui watch' shows its waits, and writes no test data. {advice}"
    # /proc/PID/io does not show to which device a process wrote
    return f"{advice} On this host, these write: {words.writers(all_writers)}." if all_writers else advice
