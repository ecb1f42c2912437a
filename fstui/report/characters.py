"""Make text safe for terminals and for files that people open.

Everything that is read from a system (a label, a model, a mount point, the output of a program) is data. It is escaped
in this module when it leaves fstui, so that it cannot control a terminal or change the reading direction.
"""

import os
import re
from collections.abc import Iterable, Mapping

CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
"""Unicode's categories Cc (controls), Cf (format: directions, joiners, tags), Cs (surrogates), Zl and Zp."""

ASCII = str.maketrans(
    {
        "✓": "+", "✗": "x", "▸": ">", "·": "-", "▌": ">", "▲": "^", "–": "-", "—": "-", "─": "-", "┤": "|",
        "└": "`", "├": "|", "│": "|", "›": ">", "×": "x", "…": "~", "≤": "<", "≥": ">", "µ": "u", "→": ">", "←": "<",
        "↑": "^", "↓": "v", "“": '"', "”": '"', "‘": "'", "’": "'", "╌": "-", "•": "*", "●": "o", "◆": "#", "§": "S",
        "╳": "x", "\xa0": " ",
        "╭": "+", "╮": "+", "╰": "+", "╯": "+",
        "━": "=", "╸": "-", "┌": "+", "┐": "+", "┘": "+", "┬": "+", "┴": "+", "┼": "+", "○": ".",
        "◂": "<", "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*", "█": "#",
    }
)  # fmt: skip
"""One character for each glyph, so that columns stay aligned on a screen."""
_PRINTED = ASCII | str.maketrans({"…": "...", "≤": "<=", "≥": ">=", **dict.fromkeys("▏▎▍▌▋▊▉", "#")})


def escape_controls(text: str) -> str:
    """Return one line with its control and format characters as visible escapes.

    A byte that is not UTF-8 (a surrogate, PEP 383) is shown as that byte: ``\\xff``.
    """
    # isprintable is faster, and a long table has 100 000 cells
    return text if text.isprintable() else CONTROL.sub(_escape, text)


def escape_lines(text: str) -> str:
    return "\n".join(map(escape_controls, text.split("\n")))


def join_lines(lines: Iterable[str]) -> str:
    """Join lines. A line feed within a line is data, and is escaped."""
    return "".join(f"{escape_controls(line)}\n" for line in lines)


def escape_json(document: bytes) -> bytes:
    """Return the same JSON with control and format characters as ``\\uXXXX``, which every JSON parser decodes."""
    return CONTROL.sub(_as_utf16, document.decode()).encode()


def printable(text: str, encoding: str) -> str:
    """Return the text in characters of this encoding. Glyphs become ASCII; other characters become visible escapes."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PRINTED).encode(encoding, errors="backslashreplace").decode(encoding)
    return text


def is_ascii_only(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether FSTUI_ASCII is 1. Without it, return True on the Linux console and in locales other than UTF-8."""
    if (setting := environ.get("FSTUI_ASCII", "")) in ("0", "1"):
        return setting == "1"
    return environ.get("TERM") == "linux" or not _has_utf8_locale(environ)


def _has_utf8_locale(environ: Mapping[str, str]) -> bool:
    locale, language = environ.get("LC_ALL") or environ.get("LC_CTYPE", ""), environ.get("LANG", "")
    if not environ.get("LC_ALL") and locale in ("C.UTF-8", "C.utf8", "UTF-8"):
        # Python sets this LC_CTYPE itself under a C locale (PEP 538); LANG still has the user's locale.
        locale = language
    return (locale or language).lower().replace("-", "").endswith("utf8")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _as_utf16(match: re.Match[str]) -> str:
    digits = match.group().encode("utf-16-be").hex()
    return "".join(f"\\u{digits[start : start + 4]}" for start in range(0, len(digits), 4))
