"""Text that is safe to leave: for every terminal, for every file that a person opens, and in the characters they have.

What is read of a system (a label, a model, a mount point, what a program says) is data. Nothing escapes it before it
leaves; here, where it leaves, no character of it can command a terminal or turn the reading direction round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
"""Unicode's categories Cc (controls), Cf (format: directions, joiners, tags), Cs (surrogates), Zl and Zp."""

_ASCII = str.maketrans(
    {"✗": "x", "✓": "+", "▲": "^", "–": "-", "—": "-", "×": "x", "µ": "u", "›": ">", "…": "...", "·": "-",
     "└": "`", "├": "|", "│": "|", "─": "-", "≤": "<=", "≥": ">=", "“": '"', "”": '"', "’": "'", "\u202f": " ",
     "●": "o", "◆": "#", "▸": ">", "█": "#", "▏": "#", "▎": "#", "▍": "#", "▌": "#", "▋": "#", "▊": "#", "▉": "#"}
)  # fmt: skip


def escape_controls(text: str) -> str:
    """One line of text with its control and format characters as visible escapes; safe text is left as it is.

    A byte that was no UTF-8 (a surrogate, PEP 383) is shown as that byte: ``\\xff``.
    """
    return CONTROL.sub(_escape, text)


def escape_lines(text: str) -> str:
    """The same of a text that is laid out in lines."""
    return "\n".join(map(escape_controls, text.split("\n")))


def page(lines: Iterable[str]) -> str:
    """Lines as one text. A line feed within one of them is data, and begins no line of its own."""
    return "".join(f"{escape_controls(line)}\n" for line in lines)


def escape_json(document: bytes) -> bytes:
    """The same JSON with those characters as ``\\uXXXX``, which every reader of it turns back."""
    return CONTROL.sub(_as_utf16, document.decode()).encode()


def printable(text: str, encoding: str) -> str:
    """The text in characters that this encoding has: glyphs become ASCII, anything else a visible escape."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, errors="backslashreplace").decode(encoding)
    return text


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_utf16(match: re.Match[str]) -> str:
    digits = match.group().encode("utf-16-be").hex()
    return "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))
