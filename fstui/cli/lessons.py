"""``fstui lessons [NAME] [--teacher]``"""

from __future__ import annotations

import click

from fstui.cli.output import put, width
from fstui.cli.terminal import check_terminal


@click.command("lessons")
@click.argument("name", required=False)
@click.option("--teacher", is_flag=True, help="Print the teacher's page, with the plan of a lecture of 45 minutes.")
def command(name: str | None, teacher: bool) -> int:
    """Take a lesson on simulated disks, by its NAME or number; without one, choose from the list."""
    if teacher:
        from fstui.report import explanation  # noqa: PLC0415  it comes with Markdown
        from fstui.report.text import WIDTH  # noqa: PLC0415

        put(explanation.document(explanation.documentation()["teaching"], width() or WIDTH))
        return 0
    from fstui.runs import lessons  # noqa: PLC0415
    from fstui.runs.session import Session  # noqa: PLC0415

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
