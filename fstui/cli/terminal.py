"""Start the app on this terminal.

Nothing here imports click: ``fstui`` and ``fstui DIR`` have nothing to parse, and the first screen appears sooner.
"""

import gc
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from fstui.cli.output import is_terminal
from fstui.model.errors import Refused

if TYPE_CHECKING:
    from types import ModuleType

_THRESHOLDS = (*gc.get_threshold()[:2], 1)
"""Python's defaults, but the oldest objects are searched ten times as often: drawn lines are reference cycles, which
would otherwise fill 3 MiB. ``execution`` sets other thresholds for commands."""
NO_TERMINAL = (
    "the app needs a terminal on stdin, stdout and stderr. Commands that work without one: 'fstui list' lists the "
    "filesystems, 'fstui scenarios' what can be run, and 'fstui run SCENARIO DIR' measures and judges."
)

DUMB_TERMINAL = (
    "the app needs a terminal that can move its cursor (TERM=dumb cannot). 'fstui list' lists the filesystems, and "
    "'fstui run SCENARIO DIR' measures and judges, as plain text."
)


def start(directory: str | None = None, *, trust_directory: bool = False, simulate: str | None = None) -> int:
    """Run the app, with the plan for a directory if one is named. Return its exit status. Raises Refused."""
    if not has_terminal() and (hint := _suggestion(directory)):
        raise Refused(f"no command is called '{directory}'.{hint} To open a directory, the app needs a terminal")
    if directory and "/" not in directory and not has_terminal() and not os.path.lexists(directory):
        raise Refused(f"no command and no directory is called '{directory}'. 'fstui --help' lists the commands")
    check_terminal()
    gc.disable()  # the app enables it again after the first frame
    gc.set_threshold(*_THRESHOLDS)
    _leave_out_openssl()
    if simulate is not None:
        from fstui.cli.options import open_session  # noqa: PLC0415  the app starts without click

        session = open_session(simulate)
    else:
        from fstui.runs.session import Session  # noqa: PLC0415

        if directory is not None:
            _check_directory(directory, trust_directory)
        session = Session.local(trust_directory=trust_directory)
    # imported late, because textual takes longer to import than all other modules together
    from fstui.tui.app import run_app  # noqa: PLC0415

    return run_app(session, directory)


def _leave_out_openssl() -> None:
    """Keep asyncio and hashlib from loading OpenSSL (5 MiB). The app uses no TLS, and Python has its own hashes."""
    if find_spec("_sha2") or find_spec("_sha256"):  # the new name since Python 3.12, and the old one
        for module in ("ssl", "_hashlib"):
            sys.modules.setdefault(module, cast("ModuleType", None))  # importing it raises ImportError


def check_terminal() -> None:
    if not has_terminal():
        raise Refused(NO_TERMINAL)
    if os.environ.get("TERM") == "dumb":
        raise Refused(DUMB_TERMINAL)


def has_terminal() -> bool:
    return all(map(is_terminal, (sys.stdin, sys.stdout, sys.stderr)))


def _check_directory(directory: str, trust_directory: bool) -> None:
    import asyncio  # noqa: PLC0415

    from fstui.runs.session import Session  # noqa: PLC0415

    try:
        asyncio.run(Session.local(trust_directory=trust_directory).look_up(directory))
    except Refused as refusal:
        raise Refused(f"{refusal}{_suggestion(directory)}") from None


def _suggestion(word: str | None) -> str:
    if word is None:
        return ""
    from fstui.cli.commands import suggestion  # noqa: PLC0415

    return suggestion(word)
