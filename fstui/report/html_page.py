"""What our HTML pages are made of. Nothing runs in them and nothing is fetched; they print.

A run's document can be taken out again: it stands in a data block (HTML standard, 4.12.1: a script element whose type
is no script's), with every ``<`` written as ``\\u003c``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from fstui.model.run import Run
from fstui.report import json
from fstui.report.characters import escape_controls
from fstui.report.sections import Cell, style
from fstui.report.sections import text as cell_text

_STYLE = Path(__file__).parent / "html_page.css"


def page(title: str, body: Iterable[str]) -> str:
    """The whole page around that."""
    head = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{text(title)}</title>",
        f"<style>{_STYLE.read_text()}</style></head><body>",
    ]
    return "\n".join([*head, *body, "</body></html>"]) + "\n"


def text(words: str | Iterable[str]) -> str:
    """Safe as text and within an attribute; several are lines."""
    lines = [words] if isinstance(words, str) else words
    return "\n".join(escape(escape_controls(line)) for line in lines)


def section(heading: str, body: Sequence[str]) -> Iterator[str]:
    """Nothing where there is no body."""
    if body:
        yield f"<section><h3>{text(heading)}</h3>"
        yield from body
        yield "</section>"


def listed(heading: str, lines: Sequence[str]) -> Iterator[str]:
    """A section of points; nothing where there are none."""
    yield from section(heading, [f"<ul>{''.join(f'<li>{text(line)}</li>' for line in lines)}</ul>"] if lines else [])


def table(header: Sequence[str], rows: Iterable[Sequence[Cell | str]]) -> list[str]:
    """Empty where there are no rows."""
    body = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    head = "".join(f"<th>{text(cell)}</th>" for cell in header)
    return [f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"] if body else []


def _cell(cell: Cell | str) -> str:
    class_ = f' class="{text(style(cell))}"' if style(cell) else ""
    return f"<td{class_}>{text(cell_text(cell))}</td>"


def document(run: Run, name: str) -> str:
    """The run's document in a data block of that name."""
    data = json.line(run).decode().strip().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{data}</script>'
