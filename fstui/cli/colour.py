"""The colours of verdicts on a terminal. The sign and the word stand there without them, too."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_BAD, _DOUBT, _GOOD = "1;31", "1;33", "1;32"
_OF = {
    "lost": _BAD, "not-durable": _BAD, "stalls": _BAD, "suspicious": _DOUBT, "slow": _DOUBT,
    "consistent": _GOOD, "kept": _GOOD, "normal": _GOOD,
}  # fmt: skip
_VERDICT = re.compile(rf"[✗!✓▲] +({'|'.join(_OF)})\b", re.IGNORECASE)
_SIGNS = {"✗": _BAD, "!": _DOUBT, "✓": _GOOD}
_ROW = re.compile(r"^([✗!✓])(?=  \S)", re.MULTILINE)
"""The sign that a row of a list begins with."""


def wanted(environ: Mapping[str, str] = os.environ) -> bool:
    """Of a terminal; unless NO_COLOR says otherwise (no-color.org), or it has none."""
    return not environ.get("NO_COLOR") and environ.get("TERM", "dumb") not in ("dumb", "unknown")


def coloured(text: str) -> str:
    """Safe text, its verdicts in their colours (ECMA-48, 8.3.117)."""
    text = _VERDICT.sub(lambda found: _in(_OF[found[1].lower()], found[0]), text)
    return _ROW.sub(lambda found: _in(_SIGNS[found[1]], found[1]), text)


def _in(colour: str, text: str) -> str:
    return f"\x1b[{colour}m{text}\x1b[0m"
