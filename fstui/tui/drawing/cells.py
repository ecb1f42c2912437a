"""Text in columns of a fixed width, so that nothing moves while numbers change.

Functions that measure or cut a text escape its control characters first, because escaping makes a text wider.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, takewhile, zip_longest
from typing import Literal

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from fstui.report.characters import escape_controls
from fstui.report.text import MARGIN, NONE, cut_left, fold, point_lines
from fstui.tui.styles import AREA, BRAND, FAINT, HEAD, SELECTED

StyledText = tuple[str, str]
ROW, ACTION = "row", "act"
"""Keys in the style metadata of text that can be clicked: the row to select, or the action to run."""
MIN_FRAME_WIDTH = 110
"""Narrower screens have no frames."""
_SELECTED_MARGIN = "▌"
_SEPARATOR, _MIN_PATH_WIDTH = " · ", 12
_MAX_HEADLINE_WIDTH = 160
_INSET = 3
"""Blank cells before a line, so that it starts below the title of its frame."""

Card = tuple[str, Callable[[int], Sequence[Text]]]
"""A title, and a function that draws the lines below it for a width."""


class Column(msgspec.Struct, frozen=True):
    """A column of a table. With a width of 0, it takes the width that the other columns leave."""

    title: str
    width: int = 0
    right: bool = False
    gap: int = 1
    """Blank cells before the column."""
    from_width: int = 0
    """A narrower screen leaves the column out."""
    cut: Literal["right", "middle", "left", "list"] = "right"
    """The place to cut a long text. Names of steps differ at both ends, paths differ at the end."""


def clickable(text: Text, action: str | int, kind: str = ACTION) -> Text:
    text.stylize(Style.from_meta({kind: action}))
    return text


def drawn_width(text: str) -> int:
    return cell_len(escape_controls(text))


def fit(text: str, width: int) -> str:
    """Pad the text to the width, or cut it at its end with an ellipsis."""
    text = escape_controls(text)
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 1 else set_cell_size(text, max(width, 0))


def fit_middle(text: str, width: int) -> str:
    """Pad the text to the width, or cut it in the middle."""
    text = escape_controls(text)
    if cell_len(text) <= width or width < 5:
        return fit(text, width)
    tail = set_cell_size(text[::-1], (width - 1) // 2)[::-1]
    return set_cell_size(text, width - 1 - (width - 1) // 2) + "…" + tail


def relative(path: str, mount_point: str) -> str:
    """Return a path without the mount point that the title of the screen names."""
    return path.removeprefix(f"{mount_point}/")


def fit_right(text: str, width: int) -> str:
    text = escape_controls(text)
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else fit(text, width)


def fit_list(text: str, width: int, separator: str = ", ") -> str:
    """Leave out the last parts of a list that is too long. The parts are in the order of their importance."""
    text = escape_controls(text)
    parts = text.split(separator)
    while cell_len(text) > width and len(parts) > 1:
        parts.pop()
        text = separator.join(parts)
    return fit(text, width).rstrip()


_FIT: Mapping[str, Callable[[str, int], str]] = {
    "right": fit,
    "middle": fit_middle,
    "left": lambda text, width: fit(cut_left(text, width), width),
    "list": lambda text, width: fit(fit_list(text, width), width),
}


def line(*spans: StyledText | str) -> Text:
    """Join spans to one line that does not wrap."""
    line_ = Text(end="", no_wrap=True)
    for span in spans:
        text, style = (span, "") if isinstance(span, str) else span
        line_.append(escape_controls(text), style or None)
    return line_


def spread(left: Sequence[StyledText | str], right: str, width: int, right_style: str = "") -> Text:
    """Place texts at both ends of a line. The left text is cut if both do not fit."""
    text, right = line(*left), escape_controls(right)
    right = right if cell_len(right) < width - 1 else fit(right, width - 2)
    left_width = width - cell_len(right) - 3
    if text.cell_len > left_width:
        text.truncate(max(left_width - 1, 0), overflow="crop")
        text.append("…")
    text.append(" " * max(width - text.cell_len - cell_len(right) - 1, 0))
    return text.append(right, right_style or None)


def title_line(name: str, place: str, remark: str, width: int, badge: str = "") -> Text:
    """Draw the first line of a screen: ``fstui  BADGE  name   place   remark``. The end of a long place is cut."""
    names = "  ".join(filter(None, (badge, name)))
    place_width = width - drawn_width(f" fstui  {names}   ") - drawn_width(remark) - 3
    while drawn_width(place) > place_width and _SEPARATOR in place:
        place = place.rpartition(_SEPARATOR)[0]
    place = cut_left(place, place_width) if place_width >= min(drawn_width(place), _MIN_PATH_WIDTH) else ""
    return spread([(" fstui ", BRAND), (f" {names}" if names else "", HEAD), (f"   {place}", "")], remark, width)


def fit_columns(columns: Sequence[Column], width: int) -> tuple[Column, ...]:
    visible = [column for column in columns if max(width, 0) >= column.from_width]
    free_width = max(width - sum(column.width + column.gap for column in visible), 4)
    return tuple(column if column.width else msgspec.structs.replace(column, width=free_width) for column in visible)


def row(columns: Sequence[Column], values: Mapping[str, str]) -> str:
    return "".join(text for text, _ in styled_row(columns, values, {}))


def styled_row(columns: Sequence[Column], values: Mapping[str, str], styles: Mapping[str, str]) -> list[StyledText]:
    return [(cell(column, values.get(column.title, "")), styles.get(column.title, "")) for column in columns]


def cell(column: Column, text: str) -> str:
    fit_cell = fit_right if column.right else _FIT[column.cut]
    return " " * column.gap + fit_cell(text, column.width)


def meter(share: float | None, cells: int, style: str) -> tuple[StyledText, StyledText]:
    """Return a bar, drawn in half cells, and the rest of its track. An unknown share (None) is blank."""
    if share is None:
        return (" " * cells, ""), ("", "")
    halves = min(max(round(share * cells * 2), share > 0), cells * 2)
    filled = "━" * (halves // 2) + "╸" * (halves % 2)
    return (filled, style), ("─" * (cells - len(filled)), FAINT)


def plain_meter(share: float, cells: int) -> str:
    """Return a bar without colours, for a table. ``colour_meters`` adds the colours."""
    return "".join(text for text, _ in meter(share, cells, ""))


def colour_meters(texts: Iterable[Text], style: str = AREA) -> None:
    for text in texts:
        text.highlight_regex("[╺━╸]+", style)
        text.highlight_regex("─+", FAINT)


def colour_cell(text: Text, cell: str, style: str) -> None:
    """Colour a cell of a drawn row if it is not cut."""
    text.highlight_regex(rf"(?<= ){re.escape(cell)}(?= )", style)


def selectable_row(spans: Sequence[StyledText], *, selected: bool, glyph: StyledText = (" ", "")) -> Text:
    """Draw a row with its glyph in the margin. The selected row is reversed and has no other colours."""
    sign, style = glyph
    body = [(f"{sign} ", style), *spans]
    if selected:
        return line((_SELECTED_MARGIN, HEAD), *((text, SELECTED) for text, _ in body))
    return line(" ", *body)


def heading(columns: Sequence[Column], width: int) -> Text:
    """Draw the titles of columns on a horizontal line, which can also be the top of a frame."""
    titles = f"── {row(columns, {column.title: column.title for column in columns})}".ljust(width)
    return line((re.sub("(?<= ) +(?= |$)", lambda blanks: "─" * len(blanks[0]), titles), FAINT))


def used_columns(columns: Sequence[Column], rows: Sequence[Sequence[str]], used: dict[str, int]) -> list[Column]:
    """Hide columns that had no value so far, and make columns of text as narrow as their longest text so far.

    ``used`` collects the widths of columns by their titles, so that columns only appear and grow.
    """
    for cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            if cell not in ("", NONE):
                used[column.title] = max(used.get(column.title, len(column.title)), drawn_width(cell))
    hidden_from = 10_000
    return [
        msgspec.structs.replace(column, from_width=hidden_from)
        if rows and column.title not in used
        else column
        if column.right
        else msgspec.structs.replace(column, width=min(column.width, used.get(column.title, column.width)))
        for column in columns
    ]


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> list[Text]:
    """Draw a heading and rows. A row has a cell for each column, but only the columns that fit are drawn."""
    titles, fitting = [column.title for column in columns], fit_columns(columns, width - _INSET - 1)
    drawn = [row(fitting, dict(zip(titles, cells, strict=True))) for cells in (titles, *rows)]
    return [line((" " * _INSET + text, "" if index else FAINT)) for index, text in enumerate(drawn)]


def rule(width: int, left: str = "", right: str = "", legend: Sequence[StyledText] = (), style: str = HEAD) -> Text:
    """Draw ``── left ──── right ──``. ``legend`` replaces an empty ``right``, if need be without its first part."""
    for shown in (legend, legend[1:]) if not right else ():
        legend_width = sum(cell_len(text) for text, _ in shown)
        if shown and cell_len(left) + legend_width + 11 <= width:
            return rule(width - legend_width - 4, left).append(" ").append_text(line(*shown)).append(" ──", FAINT)
    left, right = escape_controls(left), escape_controls(right)
    start = line(("── ", FAINT), (fit(left, min(cell_len(left), width - 7)), style), (" ", FAINT)) if left else line()
    end = f" {right} ──" if right and start.cell_len + cell_len(right) + 6 <= width else ""
    return start.append("─" * max(width - start.cell_len - cell_len(end), 0) + end, FAINT)


def draw_frame(texts: Sequence[Text], width: int, height: int) -> list[Text]:
    """Draw a frame around narrower lines, the first of which is a rule. A frame with a selected row is coloured."""
    lines = []
    style = AREA if any(text.plain.startswith(_SELECTED_MARGIN) for text in texts) else FAINT
    for index in range(height - 1):
        text = texts[index].copy() if index < len(texts) else line()
        if index == 0:
            text.spans = [span._replace(style=style) if span.style == FAINT else span for span in text.spans]
        left, right = ("╭", "╮") if index == 0 else ("├", "┤") if text.plain.startswith("──") else ("│", "│")
        text.truncate(width - 2, overflow="ellipsis", pad=True)
        lines.append(line((left, style)).append_text(text).append(right, style))
    return [*lines, line(("╰" + "─" * (width - 2) + "╯", style))]


def side_by_side(columns: Iterable[Sequence[Text]], width: int) -> list[Text]:
    """Join columns of lines. ``width``: the width of each column."""
    rows = [[part.copy() for part in row] for row in zip_longest(*columns, fillvalue=line())]
    for part in chain.from_iterable(rows):
        part.truncate(width, overflow="ellipsis", pad=True)
    return [Text.assemble(*row, end="") for row in rows]


def paragraph(text: str, width: int, lead: str = " " * _INSET, style: str = "") -> list[Text]:
    """Draw wrapped text with a blank cell on the right. ``lead`` starts the first line. The others are indented."""
    parts = fold(text, max(width - 1, 20), lead, " " * len(lead)) or [lead]
    return [line((part, style)) for part in parts]


def name_lines(texts: Sequence[tuple[str, str]], width: int) -> list[Text]:
    """Draw names in bold in a column of their own, each with its text."""
    name_width = max(cell_len(name) for name, _ in texts)
    lines: list[Text] = []
    for name, text in texts:
        drawn = paragraph(text, width, f"   {fit(name, name_width)}  ")
        drawn[0].stylize(HEAD, 0, name_width + 3)
        lines += drawn
    return lines


def headline(sentence: str, width: int, end: str, style: str = HEAD) -> list[Text]:
    """Draw a conclusion. Its text up to the first ``end`` has the style."""
    lines = paragraph(sentence, min(width, _MAX_HEADLINE_WIDTH), " ")
    bold_length = sentence.index(end) + 2 if end in sentence else len(sentence) + len(lines)
    for text in lines:
        text.stylize(style, 0, max(bold_length, 0))
        bold_length -= len(text)
    return lines


def window(count: int, draw: Callable[[int], Text], selected: int, height: int) -> list[Text]:
    """Draw the rows that fit, with the selected one among them. The last line says how many more there are."""
    fits = count <= height or height < 2
    offset = 0 if fits else max(min(selected - height + 2, count - height), 0)
    hidden = 0 if fits else count - offset - height
    shown = range(offset, min(offset + height - (hidden > 0), count))
    rows = [clickable(draw(index), index, ROW) for index in shown]
    return [*rows, line((f"   … {hidden + 1} more", FAINT))] if hidden > 0 else rows


def labelled_lines(label: str, sentences: Iterable[str], width: int) -> list[Text]:
    """Draw sentences with a label in the margin: ``because  label  evidence``."""
    drawn = point_lines(label, sentences, width - 2, break_long_words=True)
    return [line((f" {part[:MARGIN]}", FAINT), part[MARGIN:]) for part in drawn]


def tell_apart(names: Sequence[str], width: int) -> list[str]:
    """Cut the names of steps in the middle, so that no two of them read alike.

    Names that would read alike show only their differences. If these are too long as well, the number of the step
    comes first.
    """
    cut = [fit_middle(name, width) for name in names]
    ambiguous = [index for index, text in enumerate(cut) if cut.count(text) > 1 and names.count(names[index]) == 1]
    for index, text in zip(ambiguous, _differences([names[index] for index in ambiguous]), strict=True):
        cut[index] = fit_middle(text, width)
    counts = Counter(cut)
    return [
        fit_middle(f"{number} {name}", width) if counts[text] > 1 else text
        for number, (name, text) in enumerate(zip(names, cut, strict=True), 1)
    ]


def _differences(names: Sequence[str]) -> list[str]:
    """Remove words that all names share, and beginnings that words share up to a ``_``."""
    columns = list(zip_longest(*(name.split() for name in names), fillvalue=""))
    differing = [_without_prefix(column) for column in columns if len(set(column)) > 1]
    return [" ".join(filter(None, words)) for words in zip(*differing, strict=True)] if differing else list(names)


def _without_prefix(words: Sequence[str]) -> list[str]:
    parts = [word.split("_") for word in words if word]
    equal = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*parts, strict=False)))
    shared = min(equal, *(len(part) - 1 for part in parts))
    return ["…" + "_".join(word.split("_")[shared:]) if word and shared else word for word in words]
