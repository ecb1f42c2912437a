"""*a note*

## What it means
Somebody else writes to the same devices: their flushes and bytes are counted with ours. Where nobody did while fstui
was idle, what arrived beyond ours may be a layer's own: the journal of an md array, the log of a bcache.

## How it was measured
The devices' counters while fstui was idle, 1 s before the run and between steps; the writers' names from
`/proc/PID/io` where it may be read. Also any step in which more than 5 % too many flushes or bytes arrived.

## What it proves, and what not
Others only add. Too few flushes therefore stay too few, while enough of them prove nothing, unless the kernel's trace
tells whose they were. Nothing is subtracted.

## What to do next
Stop the others, or measure on a disk of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.flushes import FlushAccount
from fstui.model.judgement import Finding
from fstui.model.quantities import rate, ratio, size


@rule(place=60)
def other_writers(case: Case) -> Iterator[Finding]:
    """Somebody else writes to these devices: named, counted, never subtracted."""
    while_idle = [
        f"{busy.device} {rate(busy.flushes_per_s)} flushes/s, {rate(busy.writes_per_s)} writes/s"
        for busy in case.others.while_idle
    ]
    noisy = case.flushes.noisy
    if while_idle or noisy:
        yield Finding(
            rule="other-writers",
            verdict=None,
            confidence="low",
            scope="storage",
            title=f"by others: {while_idle[0]}" if while_idle else f"more than fstui sent, during {noisy[0].step.name}",
            sentence=f"{_who(case, while_idle)} {_meaning(noisy)}",
            steps=words.names(account.step for account in noisy),
            because=(
                *(f"while idle: {line}" for line in while_idle),
                *map(_surplus, noisy),
                *(
                    f"writer: {writer.name} ({writer.pid}), {size(writer.written_bytes)}"
                    for writer in case.others.writers
                ),
            ),
        )


def _who(case: Case, while_idle: list[str]) -> str:
    if while_idle:
        return f"Others write to the same devices ({words.listed(while_idle)})."
    devices = case.flushes.noisy[0].devices
    quiet = "" if case.others.flushes_per_s(devices) is None else ", though not while fstui was idle"
    by = f"somebody else wrote there{quiet}, or the filesystem or a layer beneath adds writes of its own"
    return f"At {words.devices(devices)} more arrived than fstui sent: {by}."


def _meaning(noisy: tuple[FlushAccount, ...]) -> str:
    if any(account.proves_by_trace for account in noisy):
        return "The kernel's trace tells their flushes from fstui's."
    return "They only add: too few flushes stay too few, while enough of them prove nothing."


def _surplus(account: FlushAccount) -> str:
    surplus = f", {size(account.surplus_bytes)} more than was written" if account.surplus_bytes else ""
    received = f"{ratio(account.most_per_sync)} flushes per sync, {words.expected(account.expected)} expected{surplus}"
    return f"{account.step.name}: {received} at {words.devices(account.devices)}"
