"""sysbench through fstui compared with sysbench by hand: new servers with the same options, alternating rounds.

Budgets: the 95 % interval of the paired ratio of transactions per second overlaps 0.95–1.05, and flushes per
transaction at the lowest devices are equal within 2 %. It ends within six minutes. Needs a quiet host, and root for
servers with their own users.
"""

import asyncio
import time
from argparse import Namespace
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.counters import DeviceCounters
from fstui.model.storage import Node
from fstui.runs.machine.local import LocalMachine
from tests.bench.by_fstui import ByFstui, installed
from tests.bench.by_hand import ByHand
from tests.bench.pairs import arguments, rotated, row
from tests.bench.work import scratch

MAX_S = 345.0
"""No round starts after this time: six minutes minus a round and the end."""


class Measured(NamedTuple):
    """Transactions per second, and flushes of the lowest devices per transaction."""

    tps: float
    flushes: float


Pair = dict[str, Measured]
"""Results by method."""
OPTIONS: dict[str, dict[str, int]] = {
    "mariadb": {"sync_binlog": 1, "innodb_flush_log_at_trx_commit": 1},
    "mysql": {"sync_binlog": 1, "innodb_flush_log_at_trx_commit": 1},
    "postgresql": {},
}


def main(argv: list[str]) -> int:
    """Print two rows per installed server. Return 1 if a budget is missed."""
    options = arguments(argv, "oltp", rounds=12, directory="/var/tmp")
    sysbench, found = asyncio.run(installed(OPTIONS))
    print(f"{options.rounds} rounds of {options.seconds:g} s by each, oltp_update_index, one client, in {options.dir}")
    print(f"{'':<44} median  95 % interval of the paired ratio")
    began, kept = time.monotonic(), True
    for number, program in enumerate(found, 1):
        until = began + MAX_S * number / len(found)
        with scratch(options.dir) as directory:
            pairs = _pairs(program, sysbench, Path(directory), options, until)
        kept &= _told(program.title, pairs)
    return 0 if kept else 1


def _pairs(program: ServerProgram, sysbench: str, place: Path, options: Namespace, until: float) -> list[Pair]:
    place.chmod(0o711)  # its user must be able to enter it
    asked = Sysbench(server=program.kind, workload="oltp_update_index", options=OPTIONS[program.kind])  # type: ignore[arg-type]
    (place / "fstui").mkdir(mode=0o711)
    stack = LocalMachine().target(str(place)).stack
    by_hand, by_fstui = ByHand(program, sysbench, asked, place), ByFstui(asked, place / "fstui", stack)
    pairs: list[Pair] = []
    try:
        by_hand.start()
        by_hand.run(1.0)  # both have run for one second before
        by_fstui.start()
        while len(pairs) < options.rounds and (not pairs or time.monotonic() < until):
            pairs.append(_round(by_hand, by_fstui, stack, turn=len(pairs), seconds=options.seconds))
    finally:
        by_hand.stop()
        by_fstui.stop()
    return pairs


def _told(title: str, pairs: list[Pair]) -> bool:
    """Print its rows and return whether both budgets hold."""
    kept = row(f"{title} tps: fstui / by hand", [pair["fstui"].tps / pair["hand"].tps for pair in pairs], 0.95, 1.05)
    flushes = {who: [pair[who].flushes for pair in pairs] for who in ("fstui", "hand")}
    if not all(flushes["hand"]):
        print(f"{title}: no flushes are counted here")
        return kept
    ratios = [own / by_hand for own, by_hand in zip(flushes["fstui"], flushes["hand"], strict=True)]
    kept &= row(f"{title} flushes per transaction", ratios, 0.98, 1.02)
    print(f"{'':<44} {mean(flushes['fstui']):.2f} / {mean(flushes['hand']):.2f} on average")
    return kept


def _round(by_hand: ByHand, by_fstui: ByFstui, stack: tuple[Node, ...], *, turn: int, seconds: float) -> Pair:
    found = {}
    lowest = {node.id for node in stack if node.lowest}
    for who in rotated(["fstui", "hand"], turn):
        if who == "fstui":
            step = by_fstui.run(seconds)
            found[who] = Measured(step.rate_per_s, _flushes(step.counters, lowest) / step.ops)
        else:
            before = _flushes(LocalMachine().counters(stack).devices, lowest)
            done = by_hand.run(seconds)
            after = _flushes(LocalMachine().counters(stack).devices, lowest)
            found[who] = Measured(done.tps, (after - before) / done.transactions)
    return found


def _flushes(counters: tuple[DeviceCounters, ...], lowest: set[str]) -> int:
    return sum(device.flushes or 0 for device in counters if device.device in lowest)
