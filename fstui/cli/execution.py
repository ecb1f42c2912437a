"""Run one command line and return its exit status. Print errors as sentences, without a traceback."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from fstui.cli.output import ReaderGone, say
from fstui.cli.terminal import start
from fstui.model.errors import LIMIT_REACHED, Refused, sentence_of

if TYPE_CHECKING:
    from types import FrameType

    import click

FAILED, REFUSED, UNACCEPTABLE = 1, 2, 3
_NO_THREAD = "can't start new thread"
"""Python's message if pthread_create(3) fails, in a RuntimeError."""
COMPLETION_VARIABLE = "_FSTUI_COMPLETE"
"""The variable that a shell sets to request completions. Then there are no command-line arguments."""
_COLLECT_AFTER = 100_000
"""New objects before Python searches for reference cycles. With the default of 700, the searches take longer than
building a table of thousands of rows."""
BROKEN_PIPE = 141
"""The exit status that a shell reports for a program ended by SIGPIPE."""
_interrupted_by = signal.SIGINT
"""The signal that interrupted the command, if one did."""


def execute(arguments: Sequence[str]) -> int:
    """Run the command and return its exit status. Never raises an error that a user can cause."""
    # with relative paths in PATH, fstui could run a program of another user as root
    os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))
    # with a umask such as 0777, fstui could not use the files and directories that it creates
    os.umask(os.umask(0o077) & 0o077)
    # a parent may have ignored SIGCHLD; then the exit status of each child would be lost (wait(2))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if COMPLETION_VARIABLE not in os.environ and (not arguments or _is_path(arguments)):
            return start(*arguments)  # without click, which takes time and 2 MiB
        interrupt_on_signals()
        from fstui.cli.commands import group  # noqa: PLC0415

        if COMPLETION_VARIABLE in os.environ:
            from fstui.cli.completion import prepare  # noqa: PLC0415

            prepare()
        gc.set_threshold(_COLLECT_AFTER)
        gc.enable()
        code = group.main(list(arguments), prog_name="fstui", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except BaseException as error:
        return _report_error(error)


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP interrupt the command as Ctrl-C does, unless they are ignored or already handled.

    A shell starts the background jobs of a script with SIGINT ignored. Then asyncio cancels no task for a signal, so
    that SIGTERM and SIGHUP end the process at once.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted_by  # noqa: PLW0603  the exception KeyboardInterrupt does not name the signal
    _interrupted_by = signal.Signals(number)
    if callable(handler := signal.getsignal(signal.SIGINT)):  # asyncio replaces it while a task runs
        handler(number, frame)


def interrupted_status() -> int:
    """Return the exit status after a KeyboardInterrupt, as a shell reports the signal."""
    return 128 + _interrupted_by


def _is_path(arguments: Sequence[str]) -> bool:
    """Return whether the only argument is a path with a slash, which no command and no option is."""
    return len(arguments) == 1 and "/" in arguments[0] and not arguments[0].startswith("-")


def exit_status(*codes: int) -> int:
    """Return the most important of several statuses: first a signal, then --fail-on, a closed pipe, a failure."""
    return max(codes, key=lambda code: (code > 128 and code != BROKEN_PIPE, code == UNACCEPTABLE, code))


def leave(code: int) -> NoReturn:
    """End the process even if a thread is still blocked on a lost terminal or on a disk that hangs.

    Python would wait for such threads for ever. Child processes remove files when this process ends.
    """
    is_stuck = any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        is_stuck = True  # sys.exit would write again, report the error, and exit with 120
    if not is_stuck:
        sys.exit(code)
    os._exit(code)


def _report_error(error: BaseException) -> int:
    match error:
        case Refused():
            return _print_error(str(error), REFUSED)
        case KeyboardInterrupt():
            return _print_error("stopped", interrupted_status())
        case ReaderGone() | BrokenPipeError() | SystemExit(code=1):  # click's exit for a closed pipe
            return BROKEN_PIPE
        case BlockingIOError() | RuntimeError() if _is_limit_reached(error):
            return _print_fault(LIMIT_REACHED)
        case OSError() | MemoryError():
            return _print_fault(sentence_of(error))
        case Exception():
            return _report_click_error(error)
        case _:
            raise error


def _is_limit_reached(error: Exception) -> bool:
    """Return whether fork(2) or pthread_create(3) failed with EAGAIN. A non-blocking write has another message."""
    fork_failed = isinstance(error, BlockingIOError) and error.strerror == os.strerror(errno.EAGAIN)
    return fork_failed or str(error) == _NO_THREAD


def _report_click_error(error: Exception) -> int:
    import click  # noqa: PLC0415  the app starts without it

    match error:
        case click.UsageError() if type(error).__name__ == "NoArgsIsHelpError":  # since click 8.2
            for line in error.format_message().splitlines():
                say(line)
            return REFUSED
        case click.UsageError():
            return _print_error(f"{error.format_message()} {_help(error)}", REFUSED)
        case click.Abort():
            return _print_error("stopped", interrupted_status())
        case _:
            return _print_fault(f"unexpected {type(error).__name__}: {error}. Set FSTUI_DEBUG=1 to see the traceback.")


def _print_error(sentence: str, code: int) -> int:
    say(f"fstui: {sentence.strip()}")
    return code


def _print_fault(sentence: str) -> int:
    if os.environ.get("FSTUI_DEBUG"):
        import traceback  # noqa: PLC0415  only for developers

        for line in traceback.format_exc().splitlines():
            say(line)
    return _print_error(sentence, FAILED)


def _help(error: click.UsageError) -> str:
    from fstui.cli.commands import APP, COMMANDS  # noqa: PLC0415

    if error.ctx is None:  # click names no command if an option lacks its value
        command_line = " ".join(["fstui", *[word for word in sys.argv[1:] if word in COMMANDS][:1]])
    else:
        command_line = "fstui" if error.ctx.info_name == APP else error.ctx.command_path
    return f"See '{command_line} --help'."
