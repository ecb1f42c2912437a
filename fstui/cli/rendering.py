"""``--format`` and ``--output``"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
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


def output_option() -> Callable[[Any], Any]:
    """A file for what is printed."""
    return click.option("--output", type=Path, metavar="FILE", help="Write there instead of to stdout.")
