"""The terminal interface.

Screens call `fstui.runs` and draw what `fstui.report` returns; they never judge and never read ``/proc`` or ``/sys``.
Textual reads its settings from the environment when it is imported, so this package sets them first.
"""

import os
from collections.abc import MutableMapping


def prepare(environ: MutableMapping[str, str] = os.environ) -> None:
    """Choose Textual's settings where the user has not set them.

    The ANSI theme uses the terminal's own colours. They are readable on dark and light backgrounds and with 256, 16 or
    no colours, and they take the fewest bytes. GNU screen inherits a COLORTERM value that it does not support.
    """
    environ.setdefault("TEXTUAL_THEME", "ansi-dark")
    environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    if environ.get("STY"):
        environ["TEXTUAL_COLOR_SYSTEM"] = "256"


prepare()
