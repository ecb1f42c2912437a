"""What the user declared to be really underneath a target, since a virtual disk cannot know. Kept per identity."""

from __future__ import annotations

from pathlib import Path

import msgspec

from fstui.model import MediumCache, MediumClass
from fstui.state import files, paths
from fstui.state.files import write_atomically


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """The medium, its write cache, or both; None where nothing was said."""

    medium: MediumClass | None = None
    write_cache: MediumCache | None = None


def recall(identity: str) -> Declaration | None:
    """What was declared for that target identity, or None."""
    return _all().get(identity)


def remember(identity: str, declaration: Declaration) -> None:
    """Keep the declaration, replacing an older one. Raises OSError, or Refused without a home."""
    _save({**_all(), identity: declaration})


def forget(identity: str) -> None:
    """Drop the declaration, if there is one. Raises OSError."""
    kept = _all()
    if kept.pop(identity, None) is not None:
        _save(kept)


def _all() -> dict[str, Declaration]:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, Declaration])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def _save(declarations: dict[str, Declaration]) -> None:
    files.make_private(paths.state_dir())
    write_atomically(_file(), msgspec.json.format(msgspec.json.encode(declarations), indent=1) + b"\n")


def _file() -> Path:
    return paths.state_dir() / "declarations.json"
