"""Bytes that the run screen sends to an 80×24 terminal with 256 colours, during a real run.

Counted from the start of the run to its end, with the first painting of the screen, and without the result.
"""

import statistics
import tempfile

from tests.bench.pairs import arguments
from tests.terminal.pty_app import PtyApp

BUDGET_KIB = 6.0
_NO_MULTIPLEXER = {"TMUX": "", "STY": ""}


def main(argv: list[str]) -> int:
    """Print each round's bytes per second, and the median with the budget. Return 1 if it is missed."""
    options = arguments(argv, "wire", rounds=5, directory=tempfile.gettempdir())
    medians = []
    print("KiB/s to the terminal, second by second, odirect-truth at 80×24, xterm-256color")
    for number in range(1, options.rounds + 1):
        seconds = _round(options.dir)
        medians.append(statistics.median(seconds))
        print(f"round {number}: {' '.join(f'{value:5.1f}' for value in seconds)}   median {medians[-1]:.1f}")
    middle = statistics.median(medians)
    kept = middle <= BUDGET_KIB
    print(f"median {middle:.1f} KiB/s   budget {BUDGET_KIB:g}  {'kept' if kept else 'MISSED'}")
    return 0 if kept else 1


def _round(directory: str) -> list[float]:
    with (
        tempfile.TemporaryDirectory(dir=directory) as target,
        tempfile.TemporaryDirectory() as state,
        PtyApp(target, state=state, environment=_NO_MULTIPLEXER) as app,
    ):
        app.begin_odirect_truth()
        began = app.read_until("LAYER", 10)
        ended = app.read_until(" FINDING ", 120)
        return _per_second([chunk for chunk in app.chunks if chunk[0] < ended], began)


def _per_second(chunks: list[tuple[float, bytes]], began: float) -> list[float]:
    whole = int(chunks[-1][0] - began)
    sums = [0] * whole
    for at, chunk in chunks:
        second = int(at - began)
        if at >= began and second < whole:
            sums[second] += len(chunk)
    return [count / 1024 for count in sums]
