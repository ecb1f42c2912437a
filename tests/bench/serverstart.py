"""Time to make, start and fill a server with 10 000 rows: fstui compared with a shell script.

As in a run, fstui writes the ledger and finds the programs before the clock starts. The script knows its programs.
Budget: 1.2 times as long, by the 95 % interval of the paired ratio. Needs a quiet host, and root for servers with their
own users.
"""

import asyncio
import time
from pathlib import Path

from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.sysbench import Sysbench
from tests.bench.by_fstui import ByFstui, installed
from tests.bench.by_hand import ByHand
from tests.bench.pairs import arguments, rotated, row
from tests.bench.work import scratch

KINDS = ("mariadb", "mysql", "postgresql")


def main(argv: list[str]) -> int:
    """Print one row per installed server. Return 1 if a budget is missed."""
    options = arguments(argv, "serverstart", rounds=6, directory="/var/tmp")
    sysbench, found = asyncio.run(installed(KINDS))
    print(f"{options.rounds} paired starts, 10 000 rows, in {options.dir}")
    print(f"{'':<44} median  95 % interval of the paired ratio")
    kept = True
    for program in found:
        with scratch(options.dir) as directory:
            Path(directory).chmod(0o711)  # its user must be able to enter it
            ratios = [_round(program, sysbench, Path(directory), turn) for turn in range(options.rounds)]
        kept &= row(f"{program.title} until filled: fstui / script", ratios, 0.0, 1.2)
    return 0 if kept else 1


def _round(program: ServerProgram, sysbench: str, place: Path, turn: int) -> float:
    asked = Sysbench(server=program.kind)  # type: ignore[arg-type]
    took = {}
    for who in rotated(["fstui", "hand"], turn):
        own = place / f"{who}-{turn}"
        own.mkdir(mode=0o711)
        took[who] = _by_fstui(asked, own) if who == "fstui" else _by_hand(ByHand(program, sysbench, asked, own))
    return took["fstui"] / took["hand"]


def _by_fstui(asked: Sysbench, place: Path) -> float:
    server = ByFstui(asked, place, ())
    try:
        return server.start()
    finally:
        server.stop()


def _by_hand(server: ByHand) -> float:
    began = time.monotonic()
    try:
        server.start()
        return time.monotonic() - began
    finally:
        server.stop()
