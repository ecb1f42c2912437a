"""*consistent: medium confidence if each lowest device was seen to do work, else low; cannot-tell if other processes
write*

## What it means
For every sync, the devices below received the flushes that the filesystem is expected to send, and all synced bytes.

## How it was measured
Each layer that counts flushes was read before and after every step with one writer (field 16 of `/sys/block/X/stat`).
Expected flushes per sync, for an overwrite with fdatasync:

- ext4, XFS, and ZFS (at the devices of its intent log): 1
- btrfs: 2, one of them as a FUA write if the device supports FUA
- ext4 with `data=journal`: 2 on Linux 6.1, 3 on 6.18

As root, the kernel's trace shows which process requested each flush, which decides if other processes write as well.

## What it proves, and what it does not
No layer above the driver dropped the flushes during the seconds measured. A drive, a bridge or a host may still
acknowledge a flush and ignore it. Confidence is above low only if each lowest device was seen to do work
(`flush-cost`) or is known to lose nothing. Without a trace, the result is cannot-tell if over 5 % more than expected
arrive, or if the device, while fstui is idle, receives flushes at more than 5 % of the sync rate.

## What to do next
If other processes write, stop them or use another disk. To be certain, run a power-cut test.

## Details
- Tolerated: one sync or 0.2 % missing (10 % if no exact number is expected)
- Each member of a stripe or mirror receives every flush; paths share them.
- The trace includes FUA writes and layers without counters (dm, md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.account import FlushAccount
from fstui.judge.facts.run_flushes import Proven
from fstui.judge.facts.step_counts import StepCounts
from fstui.judge.facts.traced import TRACE, requested_by_others
from fstui.model.quantities import count, rate, size
from fstui.storage.layers import kind


@rule(order=30)
def flushes_arrive(case: Case) -> Iterator[Conclusion]:
    proven = case.flushes.proven
    if proven and proven.depth:
        yield _arrived(case, proven)
    elif proven and proven.noisy:
        yield _noisy(case, [accounts[0] for accounts in proven.steps])


def _arrived(case: Case, proven: Proven) -> Conclusion:
    lowest = proven.depth - 1
    complete = [accounts for accounts in proven.steps if accounts[lowest].outcome == "complete"]
    noisy = [accounts for accounts in complete if accounts[lowest].others_wrote]
    # prefer steps with counted flushes; FUA writes, which no device counts, only add lines of evidence
    steps = noisy or [accounts for accounts in complete if accounts[lowest].complete_by_counters] or complete
    last = [accounts[lowest] for accounts in steps]
    first, arrival = last[0], last[0].arrival
    where, shares = words.devices(arrival.devices), words.between([account.arrival.per_sync for account in last])
    below = _unproven([accounts[proven.depth] for accounts in steps if proven.depth < len(accounts)])
    unsampled = first.by_others_per_s is None and not arrival.traced
    verified = case.lowest_devices.verified and (arrival.traced is None or arrival.devices == first.devices)
    return Conclusion(
        title=f"{shares} flushes per sync at {where}",
        sentence=f"{_flushes(last, shares)} to {where}"
        f"{_witness(case, last)}. {_unreached(last)}{below}This is based on "
        f"{words.time_judged(account.step for account in last)}; only a power cut proves more."
        f"{'' if below else case.lowest_devices.doubt(known=first.devices)}",
        verdict="consistent",
        confidence="medium" if verified and not (below or unsampled) else "low",
        steps=[account.step for account in last],
        because=(
            *(account.flush_line for accounts in steps for account in accounts[: proven.depth]),
            *(accounts[0].flush_line for accounts in complete if accounts not in steps),
            *(("idle: not measured, so other writers cannot be excluded",) if unsampled else ()),
        ),
        next=(*words.served_by(first.devices), *words.hypervisor(case.host), words.CUT_THE_POWER),
    )


def _flushes(last: Sequence[FlushAccount], shares: str) -> str:
    syncs, expected = count(sum(account.syncs for account in last)), last[0].arrival.expected
    if shares == "1.00" and expected == (1, 1) and all(one.arrival.flushes >= one.syncs for one in last):
        return f"Each of {syncs} syncs sent one flush"
    return f"{syncs} syncs sent {shares} flushes each ({words.expected(expected)} expected)"


def _witness(case: Case, last: Sequence[FlushAccount]) -> str:
    """Return what the trace attributed to fstui, or the bytes that arrived with the flushes."""
    traced = [account.traced for account in last if account.arrival.traced and account.traced]
    if not traced:
        return _bytes(case, last)
    others = requested_by_others(traced)
    next_to = f"; {others}" if others else ""
    lowest = words.devices(last[0].devices)
    below = f"; further down, at {lowest}, they cannot be attributed" if traced[0].devices != last[0].devices else ""
    return f". According to {TRACE}, these are fstui's own{next_to}{below}"


def _bytes(case: Case, accounts: Sequence[FlushAccount]) -> str:
    # a copy-on-write filesystem writes 3 to 9 times as many bytes, so a sufficient number proves nothing
    copies = kind(accounts[0].level.filesystem.kind).copies_on_write
    counts = StepCounts(case)
    if any(counts.bytes_ratio(account.step) is None for account in accounts):  # others may have written them
        return ""
    if copies or any(account.expected_bytes.low < account.step.bytes for account in accounts):
        return ""
    written = sum(account.step.bytes for account in accounts)
    arrived = sum(account.arrived_bytes for account in accounts)
    return f", and {f'all {size(written)}' if arrived >= written else f'{size(arrived)} of {size(written)}'} arrived"


def _unreached(accounts: Sequence[FlushAccount]) -> str:
    reached = {node.id for account in accounts for node in account.reached}
    idle = words.listed(node.id for node in accounts[0].devices if node.id not in reached)
    return f"Nothing reached {idle} in these steps. " if idle else ""


def _unproven(level: Sequence[FlushAccount]) -> str:
    if not level:
        return ""
    where = words.devices(level[0].level.devices) or words.named(level[0].level.filesystem)
    if any(account.others_wrote for account in level):
        return f"Further down, at {where}, other processes also wrote, so nothing is proven there. "
    if any(account.counted is None for account in level):
        return f"Further down, {where} counts no flushes, so nothing is proven there. "
    if any(account.expected == (0, 0) for account in level):
        return f"Further down, no flush is expected at {where}: the kernel considers it “write through”. "
    return f"Further down, at {where}, the expected flushes are not known, so nothing is proven there. "


def _noisy(case: Case, accounts: Sequence[FlushAccount]) -> Conclusion:
    first = accounts[0]
    where = words.devices(first.devices)
    shares = words.between([account.most_per_sync for account in accounts])
    who = (
        f"Another process wrote to {where} during the run, or a layer between filesystem and disk adds flushes of its "
        "own"
    )
    if first.by_others_per_s and any(account.others_flush_often for account in accounts):
        writers = f": {words.writers(case.others.writers)}" if case.others.writers else ""
        who = (
            f"Other processes write to {where} ({rate(first.by_others_per_s)} flushes/s while fstui was idle){writers}"
        )
    surplus = sum(account.surplus_bytes for account in accounts)
    bytes_too = f", and {size(surplus)} more than was written" if surplus else ""
    return Conclusion(
        title=f"{shares} flushes per sync at {where}, not all fstui's own",
        sentence=f"{who}. In {words.time_measured(account.step for account in accounts)}, {shares} flushes arrived per "
        f"sync ({words.expected(first.expected)} expected){bytes_too}: {_not_attributed(accounts)}.",
        verdict="cannot-tell",
        confidence="low",
        steps=[account.step for account in accounts],
        because=[account.flush_line for account in accounts],
        next=(_without_others(case, where),),
    )


def _not_attributed(noisy: Sequence[FlushAccount]) -> str:
    shares = [account.arrival.per_sync for account in noisy if account.arrival.traced]
    if not shares:
        return "fstui's own cannot be told apart"
    own = f"fstui itself requested {words.between(shares)} of them, according to {TRACE}"
    return f"{own}, and a commit of another process may have carried the rest"


def _without_others(case: Case, where: str) -> str:
    servers = words.servers(case.others.writers)
    if not servers:
        return f"Stop the other writers on {where}, or use another disk, and run again."
    return (
        f"Leave {servers} running: 'fstui watch' shows what it waits for, without writing a byte. Run again as root, "
        "so that the kernel's trace tells fstui's own flushes apart, or on another disk."
    )
