"""The command line: one file per sub-command, imported only when it is called."""

from __future__ import annotations

import sys

from fstui import __version__


def main() -> None:
    """Entry point of the ``fstui`` command. Ends the process with the exit code that DESIGN promises."""
    if sys.argv[1:] == ["--version"]:  # answered before click is imported: scripts and prompts ask for it often
        print(f"fstui {__version__}")
        return
    try:
        from fstui.cli.execution import execute  # noqa: PLC0415
    except KeyboardInterrupt:  # Ctrl-C while still importing
        sys.exit(130)
    sys.exit(execute(sys.argv[1:]))
