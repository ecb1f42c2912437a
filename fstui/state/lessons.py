"""Which lessons were taken, and how many of their two questions were answered right."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.state import files, paths


class Taken(Base, frozen=True, kw_only=True):
    """A lesson that was taken to its end."""

    day: str
    """ISO 8601."""
    right: int
    """Of two answers."""


def recall() -> dict[str, Taken]:
    """By the lesson's name. A broken file says that none was taken."""
    try:
        return msgspec.json.decode(files.read_regular(_file())[0], type=dict[str, Taken])
    except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def note(name: str, taken: Taken) -> None:
    """Keep it, in the place of an earlier time. Raises OSError, Refused."""
    kept = {**recall(), name: taken}
    files.make_private(paths.state_dir())
    files.write_atomically(_file(), msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


def _file() -> Path:
    return paths.state_dir() / "lessons.json"
