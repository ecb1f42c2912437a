"""Libraries that return success for some syncs without doing them. Without a compiler, the test is skipped."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("dropping.c")
DROPPING = {
    "all": {"DROP": "1"},
    "all, of files alone": {"DROP": "1", "REGULAR": "1"},
    "every second, of files alone": {"DROP": "2", "REGULAR": "1"},
    "every twentieth, of files alone": {"DROP": "20", "REGULAR": "1"},
    "every second, and syncfs of the others": {"AS": "syncfs", "DROP": "2"},
}
NOT_DROPPING = {
    "syncfs of each": {"AS": "syncfs"},
    "sync of each": {"AS": "sync"},
    "EINVAL is a success": {"AS": "fsync"},
}
"""No sync is dropped: each call syncs its filesystem, or all filesystems."""
_ALL = {**DROPPING, **NOT_DROPPING}


def environment(directory: Path, way: str) -> dict[str, str]:
    """Return an environment in which such a library is loaded before libc. Its file name does not reveal it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is missing: apt-get install gcc libc6-dev")
    library = directory / "libordinary.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "LD_PRELOAD": str(library), **_ALL[way]}
