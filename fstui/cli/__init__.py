"""The command line.

A command parses its arguments, calls ``fstui.runs``, and prints a report from ``fstui.report``. Data goes to stdout,
progress to stderr. The module of a command is imported only when the command is called. Of the
packages that ``fstui.runs`` itself uses, commands import only ``fstui.model`` and ``fstui.powercut``.
"""

import gc
import os
import sys

from fstui import __version__


def main() -> None:
    # without importing click, because scripts and prompts request the version often
    if sys.argv[1:] in (["--version"], ["-V"]):
        try:
            print(f"fstui {__version__}", flush=True)
        except BrokenPipeError:
            os._exit(141)  # sys.exit would write to stdout again, report the error, and exit with 120
        except OSError as error:
            sys.stderr.write(f"fstui: standard output: {error.strerror}\n")
            os._exit(1)
        return
    gc.disable()  # nothing that is imported is garbage; commands and the app enable it again
    try:
        from fstui.cli.execution import execute, leave  # noqa: PLC0415
    except KeyboardInterrupt:  # Ctrl-C while still importing
        sys.exit(130)
    leave(execute(sys.argv[1:]))
