"""One call of ``fstui``: from its arguments to an exit code, with a sentence in place of a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from fstui.cli.output import ReaderGone, say
from fstui.cli.terminal import start
from fstui.model.errors import Refused

if TYPE_CHECKING:
    import click

FAILED, REFUSED = 1, 2
INTERRUPTED = 130
_NONE_LEFT = "no further process or thread may be started here: see 'ulimit -u', and pids.max of the cgroup"
_NO_THREAD = "can't start new thread"
"""Python's word where pthread_create(3) fails, a RuntimeError."""
_COMPLETING = "_FSTUI_COMPLETE"
"""By this a shell asks click for completions, without arguments."""
BROKEN_PIPE = 141
"""What a shell reports of a program that SIGPIPE ended."""


def execute(arguments: Sequence[str]) -> int:
    """Run the command and return its exit code. Raises nothing that a user could cause."""
    _leave_out_relative_places()
    try:
        if not arguments and _COMPLETING not in os.environ:
            return start()
        from fstui.cli.commands import group  # noqa: PLC0415

        if _COMPLETING in os.environ:
            from fstui.cli.completion import prepare  # noqa: PLC0415

            prepare()
        code = group.main(list(arguments), prog_name="fstui", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        return _ended_by(error)


def _leave_out_relative_places() -> None:
    """Of PATH: a program found in the directory that we stand in would be its owner's, and run as root."""
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))


def leave(code: int) -> NoReturn:
    """End, also where a thread still waits: for a key from a terminal that is gone, for a disk that hangs.

    Python would wait for such threads for ever. What is to be removed is removed by children, who see us end.
    """
    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        sys.exit(code)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def _ended_by(error: BaseException) -> int:
    match error:
        case Refused():
            return _said(str(error), REFUSED)
        case KeyboardInterrupt():
            return _said("stopped", INTERRUPTED)
        case ReaderGone():
            return BROKEN_PIPE
        case BlockingIOError() | RuntimeError() if _is_none_left(error):
            return _surprised(_NONE_LEFT)
        case OSError():
            name = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
            return _surprised(f"{name}{error.strerror or error}")
        case Exception():
            return _ended_by_click(error)
        case _:
            raise error


def _is_none_left(error: Exception) -> bool:
    """fork(2) or pthread_create(3) failed with EAGAIN; a write that must not block says more (characters_written)."""
    forked = isinstance(error, BlockingIOError) and error.strerror == os.strerror(errno.EAGAIN)
    return forked or str(error) == _NO_THREAD


def _ended_by_click(error: Exception) -> int:
    import click  # noqa: PLC0415  the app starts without it

    match error:
        case click.exceptions.NoArgsIsHelpError():
            for line in error.format_message().splitlines():
                say(line)
            return REFUSED
        case click.UsageError():
            return _said(f"{error.format_message()} {_help(error)}", REFUSED)
        case click.Abort():
            return _said("stopped", INTERRUPTED)
        case _:  # the last resort
            return _surprised(f"unexpected {type(error).__name__}: {error}. FSTUI_DEBUG=1 shows where it came from.")


def _said(sentence: str, code: int) -> int:
    say(f"fstui: {sentence.strip()}")
    return code


def _surprised(sentence: str) -> int:
    if os.environ.get("FSTUI_DEBUG"):
        import traceback  # noqa: PLC0415  for developers only

        for line in traceback.format_exc().splitlines():
            say(line)
    return _said(sentence, FAILED)


def _help(error: click.UsageError) -> str:
    from fstui.cli.commands import APP  # noqa: PLC0415

    called = error.ctx.command_path if error.ctx and error.ctx.info_name != APP else "fstui"
    return f"'{called} --help' says more."
