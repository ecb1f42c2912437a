"""Killed at random, or with its directory renamed under it: ``fstui clean`` finds all that was left.

The long form is ``python -m tests.bench chaos``; a process of its own, for namespaces of its own.
"""

from __future__ import annotations

import subprocess
import sys

QUICK = ("odirect-truth", "wal-postgres")


def chaos(*words: str) -> None:
    """Run it; what it printed is shown where anything was left."""
    bench = [sys.executable, "-m", "tests.bench", "chaos", "--seed", "7", "--patience", "60", *words]
    done = subprocess.run(bench, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_left_of_runs_that_were_killed() -> None:
    chaos("--kills", "3", "--faults", "--scenarios", *QUICK)


def test_nothing_is_left_where_the_directory_was_renamed() -> None:
    chaos("--kills", "0", "--faults", "renamed")
