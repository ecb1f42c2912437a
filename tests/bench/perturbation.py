"""The effect of the live screen: the same run in the app on an 80×24 terminal and without a screen, in pairs.

``--trace``: the effect of the kernel's trace (``tests.bench.tracing``). Budget: rate at least 0.98, p99 at most 1.05.
Steps that stay in memory are too short and are skipped, as are those with growing operations.
"""

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from fstui.measure.kinds.documents import decode_run
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.model.run import Run
from fstui.model.steps import Step
from tests.bench import tracing
from tests.bench.pairs import arguments, rotated, row
from tests.terminal.pty_app import PtyApp

SCENARIO = "odirect-truth"
FSTUI = str(Path(sys.executable).parent / "fstui")


def main(argv: list[str]) -> int:
    """Print the ratio of rates and of p99, for each step and overall. Return 1 if a budget is missed."""
    if "--trace" in argv:
        return tracing.main([word for word in argv if word != "--trace"])
    options = arguments(argv, "perturbation [--trace]", rounds=10, directory=tempfile.gettempdir())
    print(f"{options.rounds} paired rounds of {SCENARIO}, 1 s per step, live against headless, in {options.dir}")
    rates: dict[str, list[float]] = {}
    tails: dict[str, list[float]] = {}
    for turn in range(options.rounds):
        runs = {who: _run(who, options.dir) for who in rotated(["live", "headless"], turn)}
        for first, second in zip(_synced(runs["live"]), _synced(runs["headless"]), strict=True):
            rates.setdefault(first.name, []).append(first.rate_per_s / second.rate_per_s)
            tails.setdefault(first.name, []).append(_p99(first) / _p99(second))
        print(f"  {turn + 1} of {options.rounds}", flush=True)
    print(f"{'':<44} median  95 % interval of the paired ratio")
    for name, ratios in rates.items():
        print(f"  {name:<42} rate {statistics.median(ratios):.3f}   p99 {statistics.median(tails[name]):.3f}")
    kept = row("rate, live / headless", [r for values in rates.values() for r in values], 0.98, 1e9)
    kept &= row("p99, live / headless", [t for values in tails.values() for t in values], 0.0, 1.05)
    return 0 if kept else 1


def _run(who: str, directory: str) -> Run:
    with tempfile.TemporaryDirectory(dir=directory) as target, tempfile.TemporaryDirectory() as state:
        return _live(target, state) if who == "live" else _headless(target, state)


def _headless(target: str, state: str) -> Run:
    command = [FSTUI, "run", SCENARIO, target, "--format", "json"]
    environment = {"XDG_STATE_HOME": state, "XDG_CONFIG_HOME": state, "PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    return decode_run(output.stdout)


def _live(target: str, state: str) -> Run:
    with PtyApp(target, state=state) as app:
        app.begin_odirect_truth()
        app.read_until("findings", 120)
    (saved,) = (Path(state) / "fstui" / "runs").glob("*.json")
    return decode_run(saved.read_bytes())


def _synced(run: Run) -> list[Step]:
    return [step for step in run.steps if isinstance(step.settings, SyncWrites) and step.name != "write, no sync"]


def _p99(step: Step) -> int:
    if step.latency_ns is None or step.latency_ns.p99 is None:
        sys.exit(f"{step.name}: too few operations for a p99; use --seconds or a quicker disk")
    return step.latency_ns.p99
