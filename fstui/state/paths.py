"""Where what outlives us is kept, after the XDG Base Directory Specification.

Asking for a path creates nothing. The specification tells to ignore a variable that is not an absolute path.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from fstui.model import Refused


def state_dir() -> Path:
    """``$XDG_STATE_HOME/fstui``, else ``~/.local/state/fstui``. Raises Refused where there is no home directory."""
    return _base("XDG_STATE_HOME", ".local/state") / "fstui"


def config_dir() -> Path:
    """``$XDG_CONFIG_HOME/fstui``, else ``~/.config/fstui``. Raises Refused where there is no home directory."""
    return _base("XDG_CONFIG_HOME", ".config") / "fstui"


def runs_dir() -> Path:
    """Saved runs, one JSON document each."""
    return state_dir() / "runs"


def ledger_dir() -> Path:
    """What was made on targets and is not yet removed, one file each."""
    return state_dir() / "ledger"


def _base(variable: str, below_home: str) -> Path:
    stated = os.environ.get(variable, "")
    return Path(stated) if stated.startswith("/") else _home(variable) / below_home


def _home(variable: str) -> Path:
    stated = os.environ.get("HOME", "")
    if stated.startswith("/"):
        return Path(stated)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise Refused(f"user {os.getuid()} has no home directory to keep runs in: set HOME or {variable}") from None
