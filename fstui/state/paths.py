"""The paths of the XDG directories in which fstui keeps its files. They may not exist yet."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fstui.measure.children import CALL_TIMEOUT_S, call_in_child
from fstui.model.errors import Refused

_Result = TypeVar("_Result")


def state_dir() -> Path:
    """Return ``$XDG_STATE_HOME/fstui``, by default ``~/.local/state/fstui``. Raises Refused if there is no home."""
    return _directory("XDG_STATE_HOME", ".local/state")


def config_dir() -> Path:
    """Return ``$XDG_CONFIG_HOME/fstui``, by default ``~/.config/fstui``. Raises Refused if there is no home."""
    return _directory("XDG_CONFIG_HOME", ".config")


def runs_dir() -> Path:
    return state_dir() / "runs"


def ledger_dir() -> Path:
    return state_dir() / "ledger"


async def call_in_state_dir(
    function: Callable[..., _Result], *arguments: object, timeout_s: float = CALL_TIMEOUT_S
) -> _Result:
    """Call, in a child process, a function that uses the state directory. Raises NoReply with the directory's path."""
    return await call_in_child(function, *arguments, timeout_s=timeout_s, where=str(state_dir()))


def _directory(variable: str, default: str) -> Path:
    """Return the directory in the variable. A relative path is ignored, as the XDG specification requires."""
    directory = Path(os.environ.get(variable, ""))
    if directory.is_absolute():
        return directory / "fstui"
    home = Path(os.environ.get("HOME", ""))
    if not home.is_absolute():
        home = _home_of_user()
    if not home.is_absolute():
        raise Refused(f"User {os.getuid()} has no home directory to keep runs in. Set HOME or {variable}.")
    return home / default / "fstui"


def _home_of_user() -> Path:
    """Return the home directory from the user database; an empty path if the user is not in it."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return Path()
