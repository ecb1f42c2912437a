"""One browser's app: on a simulated disk with a state of its own, or on this box. Started by ``fstui serve``."""

from __future__ import annotations

import os
import sys
import tempfile

from fstui.cli.simulating import session_on


def main() -> None:
    """Arguments: a directory for its state, and the simulated disk; none: this box."""
    from fstui.runs.session import Session  # noqa: PLC0415
    from fstui.tui.app import FstuiApp  # noqa: PLC0415
    from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415

    if len(sys.argv) == 1:
        FstuiApp(Session.here(), ascii_only=False).run(mouse=False)
        return
    home, disk = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=home) as own:  # nobody sees, or writes to, what the server's user has saved
        os.environ.update(XDG_STATE_HOME=own, XDG_CONFIG_HOME=own)
        os.chdir(own)
        session, _ = session_on(disk)
        FstuiApp(session, ascii_only=False, opening=lambda app: app.push_screen(LessonsScreen())).run(mouse=False)


if __name__ == "__main__":
    main()
