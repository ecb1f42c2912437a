"""A run in the format that was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from fstui.model import Run
from fstui.report import csv, json, markdown, plain

FORMATS = ("plain", "json", "markdown", "csv")


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


def rendered(run: Run, format_: str, saved_to: str | None = None) -> str | bytes:
    """The run as one of FORMATS."""
    match format_:
        case "json":
            return json.line(run)
        case "markdown":
            return markdown.render(run)
        case "csv":
            return csv.render(run)
        case _:
            return plain.render(run, saved_to)
