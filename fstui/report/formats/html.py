"""One HTML page, for screens and print, without scripts or external files.

fstui can read the document of each run back from the page. The document is in a data block (HTML standard, 4.12.1: a
script element whose type is not JavaScript), in which ``<`` is written as ``\\u003c``.
"""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from fstui.model.base import Base
from fstui.model.run import Run
from fstui.report.characters import escape_controls
from fstui.report.formats import json
from fstui.report.sections import Cell, Report, Section, cell_style, cell_text

EXTENSION = "html"
_STYLE = Path(__file__).with_name("html.css")


def render(report: Report, width: int | None = None) -> str:
    sections = [section for section in report.filled_sections if not section.only_on_terminal]
    parts = [part for section in sections for part in _section(section)]
    documents = [_document(run, f"run-{index}") for index, run in enumerate(report.runs)]
    return "\n".join([*_head(_title(report)), *parts, *documents, "</body></html>"]) + "\n"


def _title(report: Report) -> str:
    """Return the title of the report, or else the name of its document, such as ``history``."""
    if report.title or not isinstance(report.document, Base):
        return report.title or "report"
    return str(report.document.__struct_config__.tag).removeprefix("fstui.").partition("/")[0]


def _head(title: str) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield ("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">")
    yield f"<title>fstui: {_text(title)}</title>"
    yield f"<style>{_STYLE.read_text()}</style></head><body>"
    yield f"<header><h1>{_text(title)}</h1></header>"


def _section(section: Section) -> Iterator[str]:
    yield "<section>"
    if section.style:
        yield f'<h2 class="{section.style}">{_text(section.title)}</h2>'
    elif section.title:
        yield f"<h3>{_text(section.title)}</h3>"
    yield from _table(section)
    yield from (f"<p>{_text(line)}</p>" for line in section.lines)
    for label, lines in section.points:
        if lines:
            yield f"<h3>{_text(label.capitalize())}</h3>"
            yield f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in lines)}</ul>"
    if section.drawn:
        drawn = (f'<span class="{_text(cell_style(line))}">{_text(cell_text(line))}</span>' for line in section.drawn)
        yield "\n".join(drawn).join(("<pre>", "</pre>"))
    yield from (f"<figure><figcaption>{_text(title)}</figcaption>{svg}</figure>" for title, svg in section.figures)
    yield "</section>"


def _table(section: Section) -> Iterator[str]:
    if section.rows:
        head = "".join(f"<th>{_text(name)}</th>" for name in section.header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in section.rows)
        yield f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: Cell | str) -> str:
    class_ = f' class="{_text(cell_style(cell))}"' if cell_style(cell) else ""
    return f"<td{class_}>{_text(cell_text(cell))}</td>"


def _text(words: str) -> str:
    return escape(escape_controls(words))


def _document(run: Run, name: str) -> str:
    data = json.line(run).decode().strip().replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/json" id="{name}">{data}</script>'
