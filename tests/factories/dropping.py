"""Libraries that answer some syncs without making them, compiled for the test; it is skipped where no compiler is."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("dropping.c")
WAYS = {
    "every twelfth": {"DROP": "12"},
    "every twentieth": {"DROP": "20"},
    "every twentieth, of files alone": {"DROP": "20", "REGULAR": "1"},
    "all of files with O_DIRECT": {"DROP": "1", "DIRECT": "1"},
    "one sync behind": {"BEHIND": "1"},
}
LATER = "every second, but for the first 150"
MORE = {
    "syncfs of each": {"AS": "syncfs"},
    "sync of each": {"AS": "sync"},
    "EINVAL is a success": {"AS": "fsync"},
}
"""Nothing is left out: the filesystem, or all of them, are synced for each."""
DISGUISED = {
    "syncfs, but for each second": {"AS": "syncfs", "DROP": "2", "CAREFUL": "1"},
    "syncfs, but for each twentieth": {"AS": "syncfs", "DROP": "20", "CAREFUL": "1"},
    "syncfs, but for files with O_DIRECT": {"AS": "syncfs", "DROP": "1", "DIRECT": "1"},
    "syncfs, but for files": {"AS": "syncfs", "DROP": "1", "REGULAR": "1", "CAREFUL": "1"},
    "sync, but for each second": {"AS": "sync", "DROP": "2"},
    "sync, but for files": {"AS": "sync", "DROP": "1", "REGULAR": "1"},
}
_ALL = {**WAYS, **MORE, **DISGUISED, LATER: {"DROP": "2", "AFTER": "150"}}


def preloaded(directory: Path, way: str) -> dict[str, str]:
    """This process' environment, with such a library before libc. Its name gives nothing away."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("cc is missing: apt-get install gcc libc6-dev")
    library = directory / "libordinary.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {**os.environ, "LD_PRELOAD": str(library), **_ALL[way]}
