"""The app of one browser, on a simulated disk and with state of its own. ``fstui serve`` starts it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile

from fstui.cli.options import session_on

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Arguments: the directory for its state, and the simulated disk."""
    from fstui.tui.app import FstuiApp  # noqa: PLC0415
    from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # the server may be killed
    home, disk = sys.argv[1:]
    session, _ = session_on(disk)  # in the server's directory, as it may be the name of a file
    with tempfile.TemporaryDirectory(dir=home) as own:
        # the runs, settings and ledger of the user who serves are neither shown nor changed
        os.environ.update(XDG_STATE_HOME=own, XDG_CONFIG_HOME=own, HOME=own, PWD=own)
        os.chdir(own)
        FstuiApp(session, ascii_only=False, opening=lambda app: app.push_screen(LessonsScreen())).run(mouse=False)


if __name__ == "__main__":
    main()
