"""Reading small files under a root, tolerantly: what cannot be read is None, never an exception.

The root stands in front of every path, so a made-up /proc and /sys can be read in place of the real ones. Paths in
answers and readings never contain it.
"""

from __future__ import annotations

import os
from pathlib import Path

from fstui.model.storage import Reading

SMALL_BYTES = 65536
MAX_DIGITS = 15


class Tree:
    """The files under one root. Nothing is cached: sysfs changes while we look."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = str(root).rstrip("/")
        self.real = self._root == ""
        """This is the running system, not a made-up tree."""

    def data(self, path: str, limit_bytes: int = SMALL_BYTES) -> bytes | None:
        """The first bytes of a file, or None where it cannot be read."""
        try:
            # plain descriptors: the counters are read many times a second; O_NONBLOCK: a fifo must not hold us
            descriptor = os.open(self._root + path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError):  # ValueError: a NUL in the name
            return None
        try:
            first = os.read(descriptor, min(limit_bytes, SMALL_BYTES))
            if limit_bytes <= SMALL_BYTES:
                return first
            return first + _rest(descriptor, limit_bytes - len(first)) if first else first
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def text(self, path: str, limit_bytes: int = SMALL_BYTES) -> str | None:
        """A file's text without the newline at its end. Bytes that are not text are kept as surrogates."""
        data = self.data(path, limit_bytes)
        return None if data is None else os.fsdecode(data.removesuffix(b"\n"))

    def word(self, path: str) -> str | None:
        """A file's text without blanks around it, None where nothing is left."""
        text = self.text(path)
        return text.strip(" \t\n\0") or None if text is not None else None

    def integer(self, path: str) -> int | None:
        """A file's number, or None where there is none."""
        return integer(self.word(path))

    def reading(self, what: str, path: str) -> Reading | None:
        """A file's word as a reading, or None where nothing was read."""
        word = self.word(path)
        return None if word is None else Reading(what=what, value=word, path=path)

    def names(self, path: str) -> tuple[str, ...]:
        """The names in a directory, sorted; none where it cannot be read."""
        try:
            with os.scandir(self._root + path) as entries:
                return tuple(sorted(entry.name for entry in entries))
        except (OSError, ValueError):
            return ()

    def link(self, path: str) -> str | None:
        """Where a symbolic link points, as it is written, or None."""
        try:
            return str(Path(self._root + path).readlink())
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        """Something is there."""
        try:
            return os.access(self._root + path, os.F_OK)
        except ValueError:
            return False


def integer(text: str | None) -> int | None:
    """A decimal number that a counter can hold (a 64-bit one in bytes, if these are sectors), or None."""
    if text is None or len(text) > MAX_DIGITS or not text.removeprefix("-").isdecimal() or not text.isascii():
        return None
    return int(text)


def _rest(descriptor: int, limit_bytes: int) -> bytes:
    pieces = []
    while limit_bytes > 0 and (piece := os.read(descriptor, min(limit_bytes, 1 << 20))):
        pieces.append(piece)
        limit_bytes -= len(piece)
    return b"".join(pieces)
