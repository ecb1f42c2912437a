"""The formats of a run, one module each: what ``--format`` takes, and what the app copies and exports.

To add one is to add its module: ``render``, and the ``ENDING`` of the files it is exported to (empty: it is not).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from fstui.model.run import Run
from fstui.report.sections import Report

PLAIN = "plain"
OF_RUNS = frozenset({"brief", "prometheus", "seconds"})
"""Formats that show runs only; every report can be printed in the others."""


class Format(Protocol):
    """What each of these modules holds."""

    ENDING: str

    def render(self, run: Run, saved_to: str | None = None) -> str | bytes:
        """The run in that format, safe to print; ``saved_to`` is the file that it can be read from again."""

    def render_report(self, report: Report, width: int | None) -> str | bytes:
        """Any report in that format; ``width`` of the terminal, None where there is none."""


@cache
def names() -> tuple[str, ...]:
    """``plain`` first, the others by name; none of them is imported for it."""
    others = sorted(module.name for module in iter_modules(__path__) if module.name != PLAIN)
    return (PLAIN, *others)


def format_of(name: str) -> Format:
    """The format of that name, which is one of them."""
    return cast(Format, import_module(f"{__name__}.{name}"))


def render(name: str, run: Run, saved_to: str | None = None) -> str | bytes:
    """The run in the format of that name."""
    return format_of(name).render(run, saved_to)


def report_names() -> tuple[str, ...]:
    """The formats of every report."""
    return tuple(name for name in names() if name not in OF_RUNS)


def render_report(name: str, report: Report, width: int | None = None) -> str | bytes:
    """The report in the format of that name, safe to print."""
    return format_of(name).render_report(report, width)
