"""The XDG directories in which fstui keeps its files. Looking a path up creates nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from platformdirs import PlatformDirs

from fstui.measure.children import CALL_S, in_child
from fstui.model.errors import Refused

_DIRECTORIES = PlatformDirs("fstui")
_Result = TypeVar("_Result")


def state_dir() -> Path:
    """Return ``$XDG_STATE_HOME/fstui``, by default ``~/.local/state/fstui``. Raises Refused if there is no home."""
    with _home_needed("XDG_STATE_HOME"):
        return _DIRECTORIES.user_state_path


def config_dir() -> Path:
    """Return ``$XDG_CONFIG_HOME/fstui``, by default ``~/.config/fstui``. Raises Refused if there is no home."""
    with _home_needed("XDG_CONFIG_HOME"):
        return _DIRECTORIES.user_config_path


def runs_dir() -> Path:
    """Return the directory of saved runs, one JSON document each."""
    return state_dir() / "runs"


def ledger_dir() -> Path:
    """Return the directory of the ledger, one file per entry."""
    return state_dir() / "ledger"


async def in_home(function: Callable[..., _Result], *arguments: object, timeout_s: float = CALL_S) -> _Result:
    """Call a function that uses the state directory in a child process. Raises NoAnswer, which names the directory."""
    return await in_child(function, *arguments, timeout_s=timeout_s, where=str(state_dir()))


@contextmanager
def _home_needed(variable: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError:
        raise Refused(f"User {os.getuid()} has no home directory to keep runs in. Set HOME or {variable}.") from None
