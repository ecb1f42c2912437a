"""The app of one browser, on a simulated disk and with state of its own. ``fstui serve`` starts it."""

from __future__ import annotations

import os
import sys
import tempfile

from fstui.cli.simulating import session_on


def main() -> None:
    """Arguments: the directory for its state, and the simulated disk."""
    from fstui.tui.app import FstuiApp  # noqa: PLC0415
    from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415

    home, disk = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=home) as own:
        # the runs, settings and ledger of the user who serves are neither shown nor changed
        os.environ.update(XDG_STATE_HOME=own, XDG_CONFIG_HOME=own, HOME=own, PWD=own)
        os.chdir(own)
        session, _ = session_on(disk)
        FstuiApp(session, ascii_only=False, opening=lambda app: app.push_screen(LessonsScreen())).run(mouse=False)


if __name__ == "__main__":
    main()
