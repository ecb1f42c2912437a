"""The app on this terminal. No click here: ``fstui`` alone has nothing to parse, and its first screen comes sooner."""

from __future__ import annotations

import sys

from fstui.model.errors import Refused

NO_TERMINAL = (
    "the app needs a terminal on stdin, stdout and stderr. Without one: "
    "'fstui list' shows what is here, 'fstui scenarios' what can be run, 'fstui run SCENARIO DIR' measures and judges."
)


def start(directory: str | None = None, *, trusting: bool = False) -> int:
    """Run the app, with a directory at the plan for it; its exit code. Raises Refused before the screen is taken."""
    if not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Refused(NO_TERMINAL + _meant(directory))
    if directory is not None:
        _check(directory, trusting)
    # only now: textual takes longer to import than everything else together
    from fstui.session import Session  # noqa: PLC0415
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(Session.here(trusting=trusting), directory)


def _check(directory: str, trusting: bool) -> None:
    import asyncio  # noqa: PLC0415

    from fstui.session import Session  # noqa: PLC0415

    try:
        asyncio.run(Session.here(trusting=trusting).look_up(directory))
    except Refused as refusal:
        raise Refused(f"{refusal}{_meant(directory)}") from None


def _meant(word: str | None) -> str:
    """A word close to a command was perhaps meant to be one."""
    if word is None:
        return ""
    import difflib  # noqa: PLC0415

    from fstui.cli.commands import COMMANDS  # noqa: PLC0415

    close = difflib.get_close_matches(word, COMMANDS, n=1)
    return f" Did you mean 'fstui {close[0]}'?" if close else ""
