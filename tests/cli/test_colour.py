"""Verdicts have a colour on a terminal, in addition to their sign and word."""

from __future__ import annotations

import os
import pty
import subprocess
import termios

import pytest

from fstui.cli.output import coloured, colours_wanted
from fstui.state import runs
from tests.cli.conftest import command
from tests.factories.samples import RUN


def test_only_verdicts_are_coloured() -> None:
    assert coloured("A  ✗ not-durable  x") == "A  \x1b[1;31m✗ not-durable\x1b[0m  x"
    assert coloured("! SUSPICIOUS  high") == "\x1b[1;33m! SUSPICIOUS\x1b[0m  high"
    assert coloured("✓  k3f9a1  fsync") == "\x1b[1;32m✓\x1b[0m  k3f9a1  fsync"
    assert coloured("it is slow, and not lost!") == "it is slow, and not lost!"


def test_no_color_is_respected() -> None:
    assert colours_wanted({"TERM": "xterm"})
    assert not any(map(colours_wanted, ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {})))


@pytest.mark.parametrize(("no_colour", "seen"), [("", True), ("1", False)])
def test_the_history_is_coloured_on_a_terminal(no_colour: str, seen: bool) -> None:
    runs.save(RUN)
    reader, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 80))
    subprocess.run(command("history"), stdout=terminal, check=True, env={**os.environ, "NO_COLOR": no_colour})
    os.close(terminal)
    assert (b"\x1b[1;33m" in os.read(reader, 4096)) == seen
    os.close(reader)
