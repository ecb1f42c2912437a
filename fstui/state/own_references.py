"""The references of one's own, kept from one day to the next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from fstui.model.errors import Refused, meant
from fstui.model.own_references import OwnReference
from fstui.state import files, paths


def recall() -> tuple[OwnReference, ...]:
    """All of them. A file that was broken holds none."""
    try:
        return msgspec.json.decode(files.read_regular(_file())[0], type=tuple[OwnReference, ...])
    except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
        return ()


def add(new: Sequence[OwnReference]) -> None:
    """Keep them, in the place of those of the same name. Raises OSError, and Refused without a home."""
    names = {one.name for one in new}
    _save([*(one for one in recall() if one.name not in names), *new])


def remove(name: str) -> None:
    """Forget those of that name. Raises Refused where there are none, OSError."""
    before = recall()
    kept = [one for one in before if one.name != name]
    if len(kept) == len(before):
        known = sorted({one.name for one in before})
        raise Refused(f"no reference of your own is called '{name}'.{meant(name, known)} 'fstui references' shows them")
    _save(kept)


def _save(every: Sequence[OwnReference]) -> None:
    files.make_private(paths.state_dir())
    files.write_atomically(_file(), msgspec.json.format(msgspec.json.encode(every), indent=1) + b"\n")


def _file() -> Path:
    return paths.state_dir() / "references.json"
