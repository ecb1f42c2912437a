"""A tmux server of its own, with a shell in one pane of 80×24."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping

POLL_S = 0.05
PROMPT = "prompt$"


class Tmux:
    """Send keys and wait for text. The end of the block ends the server, and SIGHUP ends the programs in the pane."""

    def __init__(self, environment: Mapping[str, str], columns: int = 80, rows: int = 24) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="fstui-tmux-")  # tmux leaves its socket behind
        told = {"TERM": "screen-256color", "PS1": PROMPT, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", **environment}
        shell = " ".join(["env", "-u", "TMUX", *(f"{key}={shlex.quote(value)}" for key, value in told.items()), "sh"])
        self._command("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), shell)
        self.wait_for_prompt()

    @staticmethod
    def here() -> bool:
        return shutil.which("tmux") is not None

    def type(self, text: str) -> None:
        self._command("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._command("send-keys", *keys)

    def run(self, command: str) -> None:
        self.type(command)
        self.press("Enter")

    def shown(self) -> str:
        return self._command("capture-pane", "-p")

    def ask(self, variable: str) -> str:
        """Return one of tmux's format variables, such as ``alternate_on``."""
        return self._command("display-message", "-p", f"#{{{variable}}}").strip()

    def wait_for(self, *words: str, timeout_s: float = 60.0) -> str:
        """Wait until one of the texts is in the pane, perhaps wrapped, and return the pane.

        Raise TimeoutError with the pane.
        """

        def seen(pane: str) -> bool:
            unwrapped = " ".join(pane.split())
            return any(word in pane or word in unwrapped for word in words)

        return self._wait(seen, f"none of {words}", timeout_s)

    def wait_for_prompt(self) -> str:
        """Wait until the shell prompts on the last line of the pane, and return the pane."""
        return self._wait(lambda pane: pane.rstrip().endswith(f"\n{PROMPT}") or pane.strip() == PROMPT, "no prompt")

    def _wait(self, seen: Callable[[str], bool], missing: str, timeout_s: float = 60.0) -> str:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            pane = self.shown()
            if seen(pane):
                return pane
            time.sleep(POLL_S)
        raise TimeoutError(f"{missing} appeared within {timeout_s} s in:\n{self.shown()}")

    def _command(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", f"{self._directory.name}/socket", *arguments],
            env={key: value for key, value in os.environ.items() if key != "TMUX"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def __enter__(self) -> Tmux:
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        with self._directory:
            self._command("kill-server")
