"""A fleet as it is printed: plain, Markdown, CSV, JSON, HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterator

from rich.cells import cell_len

from fstui.fleet.boxes import Box
from fstui.fleet.gathered import Fleet
from fstui.fleet.nodes import folded
from fstui.fleet.oddities import groups, odd_rates, ratio_to_equals, worse_verdicts
from fstui.fleet.sections import Section, headline, sections
from fstui.report import json
from fstui.report.characters import page
from fstui.report.formats.csv import spreadsheet_safe
from fstui.report.formats.markdown import escape, table_of
from fstui.report.text import WIDTH, columns, hanging, table

_CSV = (
    "box", "target", "run", "verdict", "confidence", "speed", "step", "per_s", "p99_ns", "times_its_equals", "layers",
    "model", "cache", "kernel", "cloud", "flag", "next", "trouble",
)  # fmt: skip
_STYLE = "body{font:14px sans-serif}table{border-collapse:collapse}td,th{padding:2px 8px;text-align:left}"


def render(format_: str, fleet: Fleet, width: int | None = None) -> str | bytes:
    """In one of ``FORMATS``."""
    return _plain(fleet, width) if format_ == "plain" else _OTHERS[format_](fleet)


def _plain(fleet: Fleet, width: int | None) -> str:
    lines = [headline(fleet)]
    for one in sections(fleet):
        if one.rows or one.lines:
            lines += ["", *([one.title] if one.title else []), *_rows(one, width)]
            lines += hanging([("•", line) for line in one.lines], width or WIDTH) if one.title else one.lines
    return page(lines)


def _rows(section: Section, width: int | None) -> list[str]:
    """A table; where the terminal is too narrow, without its last column, which then stands below."""
    if not section.rows:
        return []
    rows = [section.header, *section.rows]
    whole = columns(rows, section.align)
    if width is None or max(map(cell_len, whole)) <= width:
        return whole
    short = table([row[:-1] for row in rows], section.align[:-1], width)
    if section.header[0]:
        return table(rows, section.align, width)
    by_words: dict[str, list[str]] = {}
    for row in section.rows:
        by_words.setdefault(row[-1], []).append(row[1])
    below = [(folded(nodes), words) for words, nodes in by_words.items() if words]
    return [*short, *([""] if below else []), *hanging(below, width)]


def _markdown(fleet: Fleet) -> str:
    lines = [f"### {escape(headline(fleet))}"]
    for one in sections(fleet):
        if one.rows or one.lines:
            lines += ["", f"**{escape(one.title)}**", ""] if one.title else [""]
            align = one.align.replace("<", "l").replace(">", "r")
            lines += table_of(tuple(map(escape, one.header)), align, [tuple(map(escape, row)) for row in one.rows])
            lines += [*([""] if one.rows and one.lines else []), *(f"- {escape(line)}" for line in one.lines)]
    return page(lines)


def _html(fleet: Fleet) -> str:
    lines = [
        "<!doctype html>",
        '<meta charset="utf-8">',
        f"<style>{_STYLE}</style>",
        f"<h1>{_safe(headline(fleet))}</h1>",
    ]
    for one in sections(fleet):
        if one.rows or one.lines:
            lines += [f"<h2>{_safe(one.title)}</h2>"] if one.title else []
            lines += ["<table>", _html_row(one.header, "th"), *(_html_row(row, "td") for row in one.rows), "</table>"]
            lines += ["<ul>", *(f"<li>{_safe(line)}</li>" for line in one.lines), "</ul>"] if one.lines else []
    return page(lines)


def _html_row(cells: tuple[str, ...], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{_safe(cell)}</{tag}>' for cell in cells)}</tr>"


def _safe(text: str) -> str:
    return html.escape(text)  # the page leaves no control character


def _csv(fleet: Fleet) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    ratios = ratio_to_equals(fleet.boxes)
    for box in fleet.boxes:
        for cells in _csv_rows(box, ratios.get((box.node, box.place))):
            writer.writerow(map(spreadsheet_safe, cells))
    for node, trouble in fleet.about.troubles.items():
        writer.writerow(map(spreadsheet_safe, (node, *("",) * (len(_CSV) - 2), trouble)))
    return text.getvalue()


def _csv_rows(box: Box, ratio: float | None) -> Iterator[tuple[object, ...]]:
    """One for each step; one without figures where there is none."""
    of_box = (box.node, box.place, box.run, box.verdict or "", box.confidence, box.speed or "")
    rest = (box.layers, box.model, box.cache, box.kernel, box.cloud, box.flag or box.sentence, box.next, "")
    times = round(ratio, 3) if ratio is not None else None
    for one in box.rates:
        yield *of_box, one.step, round(one.per_s, 1), one.p99_ns, times, *rest
    if not box.rates:
        yield *of_box, "", None, None, None, *rest


def _json(fleet: Fleet) -> bytes:
    boxes = fleet.boxes
    document = {
        "about": fleet.about,
        "boxes": boxes,
        "worse": [
            {"box": odd.box.node, "target": odd.box.place, "sentence": odd.sentence} for odd in worse_verdicts(boxes)
        ],
        "odd": [
            {"box": odd.box.node, "target": odd.box.place, "ratio": odd.ratio, "sentence": odd.sentence}
            for odd in odd_rates(boxes)
        ],
        "groups": [
            {
                "layers": one.layers,
                "model": one.model,
                "cache": one.cache,
                "kernel": one.kernel,
                "cloud": one.cloud,
                "boxes": list(dict.fromkeys(box.node for box in one.boxes)),
                "steps": [spread._asdict() for spread in one.spreads],
            }
            for one in groups(boxes)
        ],
    }
    return json.indented(document)


_OTHERS: dict[str, Callable[[Fleet], str | bytes]] = {
    "markdown": _markdown,
    "csv": _csv,
    "json": _json,
    "html": _html,
}
FORMATS = ("plain", *_OTHERS)
