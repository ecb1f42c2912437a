"""Where what outlives us is kept, after the XDG Base Directory Specification. Asking for a path creates nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import PlatformDirs

from fstui.model.errors import Refused

_PLACES = PlatformDirs("fstui")


def state_dir() -> Path:
    """``$XDG_STATE_HOME/fstui``, else ``~/.local/state/fstui``. Raises Refused where there is no home directory."""
    with _a_home("XDG_STATE_HOME"):
        return _PLACES.user_state_path


def config_dir() -> Path:
    """``$XDG_CONFIG_HOME/fstui``, else ``~/.config/fstui``. Raises Refused where there is no home directory."""
    with _a_home("XDG_CONFIG_HOME"):
        return _PLACES.user_config_path


def runs_dir() -> Path:
    """Saved runs, one JSON document each."""
    return state_dir() / "runs"


def ledger_dir() -> Path:
    """What was made on targets and is not yet removed, one file each."""
    return state_dir() / "ledger"


@contextmanager
def _a_home(variable: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError:
        raise Refused(f"user {os.getuid()} has no home directory to keep runs in: set HOME or {variable}") from None
