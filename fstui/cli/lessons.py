"""``fstui lessons [NAME]``"""

from __future__ import annotations

import click

from fstui.cli.terminal import check_terminal


@click.command("lessons")
@click.argument("name", required=False)
def command(name: str | None) -> int:
    """Take a lesson on simulated disks, by its NAME or number; without one, choose from the list."""
    from fstui.session import Session, lessons  # noqa: PLC0415

    chosen = lessons.find(name) if name is not None else None
    check_terminal()
    from fstui.tui.app import FstuiApp, run_app  # noqa: PLC0415

    def opening(app: FstuiApp) -> None:
        from fstui.tui.screens.lesson import LessonScreen  # noqa: PLC0415
        from fstui.tui.screens.lessons import LessonsScreen  # noqa: PLC0415

        app.push_screen(LessonsScreen())
        if chosen is not None:
            app.push_screen(LessonScreen(chosen))

    return run_app(Session.here(), None, opening=opening)
