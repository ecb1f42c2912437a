"""Every parser with a million inputs, guided by coverage if atheris is installed: only clear refusals are allowed.

``--inputs N`` for each; ``--parsers NAME …`` for some; ``--seconds S`` limits each. Runs at the lowest priority. Exit
status 1 after anything but a refusal.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from tests.fuzz.targets import TARGETS


def main(argv: list[str]) -> int:
    """Print a row for each parser, and below it its failures."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench fuzz")
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--parsers", nargs="+", choices=list(TARGETS), default=list(TARGETS))
    options = parser.parse_args(argv)
    print(f"{'parser':<16} {'inputs':>9} {'seconds':>8} {'kinds of failure':>17}")
    return 1 if sum([_row(name, options.inputs, options.seconds) for name in options.parsers]) else 0


def _row(name: str, inputs: int, most_s: float) -> int:
    began = time.monotonic()
    said = _said(name, inputs, most_s)
    in_time = time.monotonic() - began < most_s
    last: dict[str, Any] = next((line for line in reversed(said) if "inputs" in line), {})
    failures = [line for line in said if "kind" in line]
    done: int = last.get("inputs", 0)
    elapsed_s: float = last.get("elapsed_s", 0.0)
    print(f"{name:<16} {done:>9} {elapsed_s:>8.0f} {len(failures):>17}", flush=True)
    for failure in failures:
        print(f"    {failure['kind']}: {failure['error']}\n        {failure['data'][:400]}", flush=True)
    ended_early = done < inputs and in_time
    if ended_early:
        print(f"    it ended after {done} inputs: memory, or an input of more than a minute", flush=True)
    return len(failures) + ended_early


def _said(name: str, inputs: int, most_s: float) -> list[dict[str, Any]]:
    """Read the output of one parser, which may contain lines of libFuzzer."""
    words = ["nice", "-n", "19", sys.executable, "-m", "tests.fuzz.guided", name, str(inputs)]
    lines = []
    with (
        tempfile.TemporaryDirectory(
            prefix="fstui-fuzz-", dir="/dev/shm"
        ) as scratch,  # libFuzzer ends without cleaning up
        subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            env={**os.environ, "TMPDIR": scratch},
        ) as process,
    ):
        assert process.stdout
        ending = threading.Timer(min(most_s, threading.TIMEOUT_MAX), os.killpg, (process.pid, signal.SIGKILL))
        ending.start()  # on a busy host it may print nothing for minutes
        for line in process.stdout:
            if line.startswith("{") and line.endswith("}\n"):
                lines.append(json.loads(line))
        ending.cancel()
    return lines
