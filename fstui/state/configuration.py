"""The app's keys and theme in the configuration directory, as TOML."""

from __future__ import annotations

import msgspec

from fstui.model.errors import Refused
from fstui.state import files, paths


class _Theme(msgspec.Struct, frozen=True):
    theme: str = ""


def keys() -> dict[str, str]:
    """Return the keys that the user changed, command → key. Raises Refused if ``keys.toml`` is not valid."""
    try:
        file = paths.config_dir() / "keys.toml"
        text, _ = files.read_regular(file)
    except (OSError, Refused):
        return {}
    try:
        return msgspec.toml.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # a number of thousands of digits, say
        raise Refused(f'{file}: {error}. A line there is "storage.filter" = "f"') from None


def theme() -> str:
    """Return the name of the chosen theme; empty if none was chosen or ``theme.toml`` is not valid."""
    try:
        data, _ = files.read_regular(paths.config_dir() / "theme.toml")
        return msgspec.toml.decode(data, type=_Theme).theme
    except (OSError, Refused, msgspec.DecodeError, ValueError, RecursionError):
        return ""


def keep_theme(name: str) -> None:
    """Choose a theme of fstui. Raises OSError, and Refused if there is no home directory."""
    files.write_private(paths.config_dir() / "theme.toml", f'theme = "{name}"\n'.encode())
