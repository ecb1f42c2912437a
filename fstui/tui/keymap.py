"""Keys that the user has changed."""

from __future__ import annotations

import msgspec

from fstui.model import Refused
from fstui.quantities import plain
from fstui.state import paths


def load() -> dict[str, str]:
    """``keys.toml`` of the configuration directory: command → key. Raises Refused where it cannot be understood."""
    try:
        file = paths.config_dir() / "keys.toml"
        text = file.read_bytes()
    except (OSError, Refused):
        return {}
    try:
        return msgspec.toml.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(f'{plain(str(file))}: {error}. A line there is "storage.filter" = "f"') from None
