"""What the accounts of several steps at one level come to, in words."""

from __future__ import annotations

from fstui.judge import words
from fstui.judge.facts.flushes import FlushAccount
from fstui.judge.facts.stack import Level, Stack
from fstui.judge.facts.traced import TRACE
from fstui.model.quantities import count, size
from fstui.storage.layers import kind


def whose(last: tuple[FlushAccount, ...]) -> str:
    """After how many there were: that they are known to be ours, or that their bytes came with them."""
    traced = [account.traced for account in last if account.sent.traced and account.traced]
    if not traced:
        return _bytes_too(last)
    others = sum(seen.others for seen in traced)
    said = f", its own by {TRACE}" + (f", while others asked for {count(others)}" if others else "")
    beneath = words.devices(last[0].devices)
    further = f"; further down, at {beneath}, they cannot be told apart" if traced[0].devices != last[0].devices else ""
    return said + further


def not_told_apart(drowned: tuple[FlushAccount, ...]) -> str:
    """Why what arrived beside others' proves nothing."""
    shares = [account.sent.each for account in drowned if account.sent.traced]
    if not shares:
        return "theirs cannot be told from ours"
    own = f"{words.between(shares)} of them were asked for by fstui itself, by {TRACE}"
    return f"{own}, and a commit that others asked for may have carried the rest"


def look_above(stack: Stack, level: Level) -> str:
    """Where to look for what keeps from that level what was synced: above the first one it is the process, or its
    container; further down, what answers for the disk that the first one ends in."""
    place = next((place for place, each in enumerate(stack.levels) if each is level), 0)
    if not place:
        return words.LOOK_FOR_FILTER
    disk = words.devices(stack.levels[place - 1].devices)
    return (
        f"Look at what answers for {disk}: a loop device (losetup --list: DIO), or a server that offers no "
        "flushes (nbd-server: flush = true)."
    )


def _bytes_too(accounts: tuple[FlushAccount, ...]) -> str:
    # on copy-on-write enough bytes prove nothing: 3 to 9 times as many are written anyway
    copies = kind(accounts[0].level.filesystem.kind).copies_on_write
    if copies or any(account.requested.low < account.step.bytes for account in accounts):
        return ""
    asked = sum(account.step.bytes for account in accounts)
    got = sum(account.arrived_bytes for account in accounts)
    return f", and {f'all {size(asked)}' if got >= asked else f'{size(got)} of {size(asked)}'} arrived"


def unproven(level: tuple[FlushAccount, ...]) -> str:
    """The sentence about the first level that proves nothing; empty where all was proven."""
    if not level:
        return ""
    where = words.devices(level[0].level.devices) or words.named(level[0].level.filesystem)
    if any(account.others_wrote for account in level):
        return f"At {where}, further down, others write too, so nothing is proven there. "
    if any(account.counted is None for account in level):
        return f"Further down, {where} counts no flushes, so nothing is proven there. "
    if any(account.expected == (0, 0) for account in level):
        return f"Further down, no flush is expected at {where}: the kernel takes it for “write through”. "
    return f"Further down, at {where}, it is not known what to expect, so nothing is proven there. "
