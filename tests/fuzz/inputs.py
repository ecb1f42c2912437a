"""Choices from bytes, so that a fuzzer of bytes can change one place of a valid input."""

import struct
from collections.abc import Sequence
from typing import Any, TypeVar

from tests.hostile import NAME

Thing = TypeVar("Thing")
MAX_DEPTH = 4
_NUMBERS = (0, 1, -1, 63, 10**15, 10**30, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 0.5, -0.5, 1e308, -0.0)
_TEXTS = ("", "x", "\x00", "=cmd|' /C calc'!A0", "<script>alert(1)</script>", "](javascript:x)", "|", "`", NAME)


class Choices:
    """Choices made by bytes. Without bytes left, the first choice is taken."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def number(self, size: int = 1) -> int:
        """Return a number from this many bytes."""
        taken, self._data = self._data[:size], self._data[size:]
        return int.from_bytes(taken, "little")

    def one_of(self, things: Sequence[Thing]) -> Thing:
        """Return one of these."""
        return things[self.number(1 if len(things) < 256 else 2) % len(things)]

    def rest(self) -> bytes:
        """Return all remaining bytes."""
        taken, self._data = self._data, b""
        return taken

    def piece(self) -> bytes:
        """Return up to 255 bytes; the first byte is their number."""
        size = self.number()
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def value(self, depth: int = 0) -> Any:
        """Return any JSON value, and some that JSON cannot hold."""
        if depth < MAX_DEPTH and (kind := self.number() % 8) > 5:
            return self._list(depth) if kind == 6 else self._object(depth)
        return self.one_of((self._plain, self._number, self._fraction, self._text, self._name))()

    def _list(self, depth: int) -> list[Any]:
        return [self.value(depth + 1) for _ in range(self.number() % 4)]

    def _object(self, depth: int) -> dict[str, Any]:
        return {self._text(): self.value(depth + 1) for _ in range(self.number() % 3)}

    def _plain(self) -> Any:
        return self.one_of((None, True, False, *_NUMBERS))

    def _number(self) -> int:
        return int.from_bytes(self.number(8).to_bytes(8, "little"), "little", signed=True)

    def _fraction(self) -> float:
        found: float = struct.unpack("<d", self.number(8).to_bytes(8, "little"))[0]
        return found

    def _name(self) -> str:
        return self.one_of(_TEXTS)

    def _text(self) -> str:
        return self.piece().decode(errors="surrogateescape")
