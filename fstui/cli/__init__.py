"""The command line: one file per sub-command, imported only when it is called."""

from __future__ import annotations

import contextlib
import os
import sys
import threading

from fstui import __version__


def main() -> None:
    """Entry point of the ``fstui`` command. Ends the process with the exit code that the README names."""
    if sys.argv[1:] == ["--version"]:  # answered before click is imported: scripts and prompts ask for it often
        try:
            print(f"fstui {__version__}", flush=True)
        except OSError as error:  # a full disk, a reader that has gone
            sys.exit(f"fstui: {error.strerror}")
        return
    try:
        from fstui.cli.execution import execute  # noqa: PLC0415
    except KeyboardInterrupt:  # Ctrl-C while still importing
        sys.exit(130)
    _leave(execute(sys.argv[1:]))


def _leave(code: int) -> None:
    """End, also where a thread still waits: for a key from a terminal that is gone, for a disk that hangs.

    Python would wait for such threads for ever. What is to be removed is removed by children, who see us end.
    """
    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(code)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
