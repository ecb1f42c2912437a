"""``--format``"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def format_option(*formats: str) -> Callable[[Any], Any]:
    """``--format``; the first is the default."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to print it.",
    )
