"""What is kept from one day to the next in one small file of the state directory, as JSON that a person can read."""

from __future__ import annotations

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from fstui.model.errors import Refused
from fstui.state import files, paths

T = TypeVar("T")


class Remembered(Generic[T]):
    """A value of this ``kind`` in the file of this ``name``; ``nothing``: what a missing or broken file holds."""

    def __init__(self, name: str, kind: type[T], nothing: T) -> None:
        self._name, self._kind, self._nothing = name, kind, nothing

    def read(self) -> T:
        """What was written last."""
        try:
            data, _ = files.read_regular(paths.state_dir() / self._name)
            return msgspec.json.decode(data, type=self._kind)
        except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
            return self._nothing

    def write(self, value: T) -> None:
        """Keep it, in the place of what was kept. Raises OSError, and Refused without a home."""
        write_readable(files.make_private(paths.state_dir()) / self._name, value)


def write_readable(file: Path, value: object) -> None:
    """As JSON, a line for each field. Raises OSError."""
    files.write_atomically(file, msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n")
