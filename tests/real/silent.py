"""A mount that never answers, for commands that enter its namespace."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.real import disks, silent_fuse


@contextmanager
def silent_mount(point: Path) -> Iterator[tuple[str, ...]]:
    """Make a mount that never answers; yield the words that start a command that sees it."""
    disks.kernel_has("fuse")
    point.mkdir()
    server = subprocess.Popen(
        [disks.tool("unshare"), "--mount", sys.executable, silent_fuse.__file__, point],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout and server.stderr
        assert server.stdout.readline() == "mounted\n", server.stderr.read()
        yield disks.tool("nsenter"), f"--target={server.pid}", "--mount"
    finally:
        server.communicate()
        point.rmdir()
