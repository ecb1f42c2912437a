"""What the terminal around us can show, read from the environment."""

from __future__ import annotations

import os
from collections.abc import MutableMapping


def prepare(environ: MutableMapping[str, str] = os.environ) -> None:
    """Textual's settings, where the user has said nothing else.

    The ansi theme paints with the terminal's own colours: readable on dark, light, 256, 16 and none, and shortest on
    the wire. GNU screen inherits a COLORTERM that promises more than screen passes on.
    """
    environ.setdefault("TEXTUAL_THEME", "ansi-dark")
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    if environ.get("STY"):
        environ["TEXTUAL_COLOR_SYSTEM"] = "256"


def ascii_only(environ: MutableMapping[str, str] = os.environ) -> bool:
    """True where only ASCII can be shown: the Linux console, a C or POSIX locale, or FSTUI_ASCII=1."""
    if (stated := environ.get("FSTUI_ASCII", "")) in ("0", "1"):
        return stated == "1"
    return environ.get("TERM") == "linux" or not _utf8(environ)


def _utf8(environ: MutableMapping[str, str]) -> bool:
    stated, language = environ.get("LC_ALL") or environ.get("LC_CTYPE", ""), environ.get("LANG", "")
    if not environ.get("LC_ALL") and stated in ("C.UTF-8", "C.utf8", "UTF-8"):
        # Python itself puts this into LC_CTYPE under a C locale (PEP 538): LANG still says what the user has
        stated = language
    return (stated or language).lower().replace("-", "").endswith("utf8")
