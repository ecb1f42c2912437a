"""The app on this terminal. No click here: ``fstui`` alone has nothing to parse, and its first screen comes sooner."""

from __future__ import annotations

import gc
import os
import sys

from fstui.model.errors import Refused, meant

NO_TERMINAL = (
    "the app needs a terminal on stdin, stdout and stderr. Without one: "
    "'fstui list' shows what is here, 'fstui scenarios' what can be run, 'fstui run SCENARIO DIR' measures and judges."
)

DUMB_TERMINAL = (
    "this terminal (TERM=dumb) cannot move its cursor, which the app's screens need. 'fstui list' shows what is here, "
    "'fstui run SCENARIO DIR' measures and judges, as plain text."
)


def start(directory: str | None = None, *, trusting: bool = False, simulate: str | None = None) -> int:
    """Run the app, with a directory at the plan for it; its exit code. Raises Refused before the screen is taken.

    ``simulate``: a simulated disk in the place of this box.
    """
    check_terminal(_meant(directory))
    gc.disable()  # all that is imported for the first screen stays, which comes sooner; then the app enables it again
    if simulate is not None:
        return _start_simulated(simulate, directory)
    if directory is not None:
        _check(directory, trusting)
    # only now: textual takes longer to import than everything else together
    from fstui.runs.session import Session  # noqa: PLC0415
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(Session.here(trusting=trusting), directory)


def check_terminal(more: str = "") -> None:
    """Raises Refused where there is none, with ``more`` besides."""
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Refused(NO_TERMINAL + more)
    if os.environ.get("TERM") == "dumb":
        raise Refused(DUMB_TERMINAL)


def _start_simulated(disk: str, directory: str | None) -> int:
    from fstui.cli.options import session_on  # noqa: PLC0415

    session, _ = session_on(disk)
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(session, directory)


def _check(directory: str, trusting: bool) -> None:
    import asyncio  # noqa: PLC0415

    from fstui.runs.session import Session  # noqa: PLC0415

    try:
        asyncio.run(Session.here(trusting=trusting).look_up(directory))
    except Refused as refusal:
        raise Refused(f"{refusal}{_meant(directory)}") from None


def _meant(word: str | None) -> str:
    """A word close to a command was perhaps meant to be one."""
    if word is None:
        return ""
    from fstui.cli.commands import COMMANDS  # noqa: PLC0415

    return meant(word, COMMANDS).replace("'", "'fstui ", 1)
