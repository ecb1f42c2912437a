import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fstui.state import ledger
from tests import prefork

Fstui = Callable[..., subprocess.CompletedProcess[bytes]]

SCENARIO = """
name = "one-step"
title = "One short step"
question = "Does it run?"

[settings.seconds]
value = 0.1
unit = "s"
help = "measured time per step"

[settings.block]
value = 4096
choices = [4096, 16384]
help = "bytes per write"

[[steps]]
name = "fdatasync"
probe = "sync_writes"
block_bytes = "{block}"
file_bytes = 65536
"""


@pytest.fixture(autouse=True)
def own_home(own_user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home of the test, without the terminal settings of the developer."""
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return own_user


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "target").mkdir()
    return tmp_path / "target"


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    (tmp_path / "one-step.toml").write_text(SCENARIO)
    return str(tmp_path / "one-step.toml")


@pytest.fixture
def fstui() -> Fstui:
    """Return a function that runs the real command. With environment variables, it starts a new interpreter."""

    def call(
        *arguments: str | bytes, stdin: int = subprocess.DEVNULL, **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        if not environment:
            return prefork.run(*arguments, stdin=stdin)
        return subprocess.run(
            command(*arguments), stdin=stdin, capture_output=True, env={**os.environ, **environment}, check=False
        )

    return call


def command(*arguments: str | bytes) -> list[str | bytes]:
    return [sys.executable, "-c", "from fstui.cli import main; main()", *arguments]


def nothing_left(target: Path) -> bool:
    return list(target.iterdir()) == [] and ledger.entries() == []


def refusal(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the one sentence of a refused command."""
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("fstui: ") and line.isprintable()
    return line
