"""The formats of ``--format``, one module each, except ``events`` (``fstui.cli.delivery.EventLines``).

To add a format, add a module with ``render`` and ``EXTENSION``, the extension of exported files (empty: the app does
not export this format).
"""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from fstui.model.run import Run
from fstui.report.sections import Report
from fstui.report.text import WIDTH

PLAIN = "plain"
RUN_FORMATS = frozenset({"brief", "prometheus", "seconds"})
"""Formats that show only the runs of a report."""
_UNSAFE = re.compile(r"[^\w.-]")


@cache
def names() -> tuple[str, ...]:
    """Return ``plain`` first, then the others by name, without importing them."""
    others = sorted(module.name for module in iter_modules(__path__) if module.name != PLAIN)
    return (PLAIN, *others)


def format_of(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


def report_names() -> tuple[str, ...]:
    return tuple(name for name in names() if name not in RUN_FORMATS)


def render_report(name: str, report: Report, width: int | None = None) -> str | bytes:
    """Return the report, safe to print. ``width`` is that of the terminal, None without one."""
    text: str | bytes = format_of(name).render(report, width)
    return text


def files(run: Run) -> dict[str, bytes]:
    # the document may be untrusted, so the name of its scenario must not lead to another directory
    name = _UNSAFE.sub("-", f"fstui-{run.scenario_name or 'run'}-{run.id}")
    extensions = {format_: extension for format_ in names() if (extension := format_of(format_).EXTENSION)}
    documents = {f"{name}.{extension}": render(format_, run) for format_, extension in extensions.items()}
    return {file: text.encode() if isinstance(text, str) else text for file, text in documents.items()}


def render(name: str, run: Run, saved_to: str | None = None) -> str | bytes:
    from fstui.report.run import run_report  # noqa: PLC0415  help needs only the names of formats, and no rules

    return render_report(name, run_report(run, saved_to), WIDTH)
