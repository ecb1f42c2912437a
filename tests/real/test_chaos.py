"""After runs were killed at random, or their directory was renamed, ``fstui clean`` finds everything that is left.

``python -m tests.bench chaos`` is the long form. It runs in a process of its own with its own namespaces.
"""

import subprocess
import sys

QUICK = ("odirect-truth", "wal-postgres")


def chaos(*words: str) -> None:
    bench = [sys.executable, "-m", "tests.bench", "chaos", "--seed", "7", "--patience", "60", *words]
    done = subprocess.run(bench, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_left_of_killed_runs() -> None:
    chaos("--kills", "3", "--faults", "--scenarios", *QUICK)


def test_nothing_is_left_after_a_rename_of_the_directory() -> None:
    chaos("--kills", "0", "--faults", "renamed")
