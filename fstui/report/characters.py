"""Text for terminals that have few characters."""

from __future__ import annotations

_ASCII = str.maketrans(
    {"✗": "x", "✓": "+", "▲": "^", "–": "-", "—": "-", "×": "x", "µ": "u", "›": ">", "…": "...", "·": "-",
     "└": "`", "├": "|", "│": "|", "─": "-", "≤": "<=", "≥": ">=", "“": '"', "”": '"', "’": "'", "\u202f": " ",
     "●": "o", "◆": "#", "▸": ">"}
)  # fmt: skip


def printable(text: str, encoding: str) -> str:
    """The text in characters that this encoding has: glyphs become ASCII, anything else a visible escape."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, errors="backslashreplace").decode(encoding)
    return text
