"""Keys of the terminal app that the user has changed."""

from __future__ import annotations

import msgspec

from fstui.model.errors import Refused
from fstui.state import paths
from fstui.state.files import read_regular


def load() -> dict[str, str]:
    """``keys.toml`` of the configuration directory: command → key. Raises Refused where it cannot be understood."""
    try:
        file = paths.config_dir() / "keys.toml"
        text, _ = read_regular(file)
    except (OSError, Refused):
        return {}
    try:
        return msgspec.toml.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # a number of thousands of digits, say
        raise Refused(f'{file}: {error}. A line there is "storage.filter" = "f"') from None
