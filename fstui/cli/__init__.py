"""The command line: one file per sub-command, imported only when it is called."""

from __future__ import annotations

import sys

from fstui import __version__


def main() -> None:
    """Entry point of the ``fstui`` command. Ends the process with the exit code that the README names."""
    if sys.argv[1:] in (
        ["--version"],
        ["-V"],
    ):  # answered before click is imported: scripts and prompts ask for it often
        try:
            print(f"fstui {__version__}", flush=True)
        except OSError as error:  # a full disk, a reader that has gone
            sys.exit(f"fstui: {error.strerror}")
        return
    try:
        from fstui.cli.execution import execute, leave  # noqa: PLC0415
    except KeyboardInterrupt:  # Ctrl-C while still importing
        sys.exit(130)
    leave(execute(sys.argv[1:]))
