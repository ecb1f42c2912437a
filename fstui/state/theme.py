"""The theme that the user has chosen: ``theme.toml`` of the configuration directory."""

from __future__ import annotations

import msgspec

from fstui.model.errors import Refused
from fstui.state import files, paths


class _File(msgspec.Struct, frozen=True):
    theme: str = ""


def recall() -> str:
    """Its name; empty where none was chosen, or the file is broken."""
    try:
        data, _ = files.read_regular(paths.config_dir() / "theme.toml")
        return msgspec.toml.decode(data, type=_File).theme
    except (OSError, Refused, msgspec.DecodeError, ValueError, RecursionError):
        return ""


def keep(name: str) -> None:
    """From now on this one; a name of ours. Raises OSError, and Refused without a home."""
    directory = files.make_private(paths.config_dir())
    files.write_atomically(directory / "theme.toml", f'theme = "{name}"\n'.encode())
