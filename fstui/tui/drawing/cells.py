"""Text in columns of a fixed width, so that nothing moves while numbers change.

What measures or cuts a text escapes its control characters first, lest it be wider on the screen than it was thought.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Any, Literal, TypeVar

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from fstui.report.characters import escape_controls
from fstui.tui.styles import FAINT, HEAD

Thing = TypeVar("Thing")
Run = tuple[str, str]
"""Text and its style."""


class Column(msgspec.Struct, frozen=True):
    """One column of a table. ``width`` 0: it takes what the others leave."""

    title: str
    width: int = 0
    right: bool = False
    gap: int = 1
    """Blank cells before it."""
    from_width: int = 0
    """Left out on narrower screens."""
    cut: Literal["right", "middle", "left"] = "right"
    """Where what is too long gives way: the ends of a matrix's names tell them apart, and the last part of a path."""


ROW, ACTION = "row", "act"
"""What a click finds on a cell: the row to select, or the action to do."""


def clickable(text: Text, found: dict[str, Any], start: int = 0, end: int | None = None) -> Text:
    text.stylize(Style.from_meta(found), start, end)
    return text


def fit(text: str, width: int) -> str:
    """Exactly that many cells: padded, or cut with an ellipsis."""
    text = escape_controls(text)
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…" if width > 1 else set_cell_size(text, max(width, 0))


def fit_middle(text: str, width: int) -> str:
    """The same, cut in the middle."""
    text = escape_controls(text)
    if cell_len(text) <= width or width < 5:
        return fit(text, width)
    tail = set_cell_size(text[::-1], (width - 1) // 2)[::-1]
    return set_cell_size(text, width - 1 - (width - 1) // 2) + "…" + tail


def fit_end(text: str, width: int) -> str:
    """The same, cut at its beginning, with no padding: the end of a path is what tells it from others."""
    text = escape_controls(text)
    if cell_len(text) <= width:
        return text
    return "…" + set_cell_size(text[::-1], max(width - 1, 0))[::-1]


def fit_right(text: str, width: int) -> str:
    """The same, flush right."""
    text = escape_controls(text)
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else fit(text, width)


def fit_left(text: str, width: int) -> str:
    """Exactly that many cells, cut at its beginning."""
    return fit(fit_end(text, width), width)


_FITTED = {"right": fit, "middle": fit_middle, "left": fit_left}


def line(*runs: Run | str) -> Text:
    """A line of runs; neighbours of one style become one run, as each costs bytes on the wire."""
    text = Text(end="", no_wrap=True)
    for run in runs:
        words, style = (run, "") if isinstance(run, str) else run
        text.append(escape_controls(words), style or None)
    return text


def ends(left: Sequence[Run | str], right: str, width: int, right_style: str = "") -> Text:
    """Left and right of a line; the left gives way, and a space stays between."""
    text, right = line(*left), escape_controls(right)
    room = width - cell_len(right) - 2
    if text.cell_len > room:
        text.truncate(max(room - 1, 0), overflow="crop")
        text.append("…")
    text.append(" " * max(width - text.cell_len - cell_len(right) - 1, 0))
    text.append(right, right_style or None)
    return text


def shown(columns: Sequence[Column], width: int) -> tuple[Column, ...]:
    """The columns for that width, the flexible one with its width filled in."""
    kept = [column for column in columns if width >= column.from_width]
    left = width - sum(column.width + column.gap for column in kept)
    return tuple(column if column.width else msgspec.structs.replace(column, width=max(left, 4)) for column in kept)


def row(columns: Sequence[Column], values: Mapping[str, str]) -> str:
    """One row; a missing value is blank."""
    return "".join(words for words, _ in styled_row(columns, values, {}))


def styled_row(columns: Sequence[Column], values: Mapping[str, str], styles: Mapping[str, str]) -> list[Run]:
    runs: list[Run] = []
    for column in columns:
        fitted = fit_right if column.right else _FITTED[column.cut]
        cell = fitted(values.get(column.title, ""), column.width)
        runs.append((" " * column.gap + cell, styles.get(column.title, "")))
    return runs


def heading(columns: Sequence[Column], margin: str = "  ") -> Text:
    return line((margin + row(columns, {column.title: column.title for column in columns}), FAINT))


def rule(width: int, left: str = "", right: str = "") -> Text:
    """A line across: ``── left ──── right ──``."""
    left, right = escape_controls(left), escape_controls(right)
    head = line(("── ", FAINT), (fit(left, min(cell_len(left), width - 7)), HEAD), (" ", FAINT)) if left else line()
    tail = f" {right} ──" if right and head.cell_len + cell_len(right) + 6 <= width else ""
    return head.append("─" * max(width - head.cell_len - cell_len(tail), 0) + tail, FAINT)


def wrapped(text: str, width: int, indent: str = "   ", first: str | None = None) -> list[str]:
    """Lines of at most that many cells, ``indent`` before each (``first`` before the first)."""
    wrapper = textwrap.TextWrapper(
        width=max(width, 20),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return wrapper.wrap(escape_controls(text)) or [indent if first is None else first]


def window(rows: Sequence[Text], selected: int, height: int, *, chosen: bool = True) -> list[Text]:
    """The rows that fit, the selected one among them; the last line says how many more there are.

    ``chosen``: a click on one selects it, else they are the lines of something.
    """
    return window_of(range(len(rows)), rows.__getitem__, selected, height, chosen=chosen)


def window_of(
    rows: Sequence[Thing], draw: Callable[[Thing], Text], selected: int, height: int, *, chosen: bool = True
) -> list[Text]:
    """The same of what is drawn only where it fits: there may be thousands."""
    fits = len(rows) <= height or height < 2
    offset = 0 if fits else max(min(selected - height + 2, len(rows) - height), 0)
    hidden = 0 if fits else len(rows) - offset - height
    part = list(map(draw, rows[offset : offset + height - (hidden > 0)]))
    if chosen:
        part = [clickable(text, {ROW: at}) for at, text in enumerate(part, offset)]
    return [*part, line((f"   … {hidden + 1} more (↓)", FAINT))] if hidden > 0 else part


def labelled(pairs: Iterable[tuple[str, str]], head: str, width: int, *, indent: int = 3) -> list[Text]:
    """Evidence under one word: ``because  label  evidence``, the word before the first line only.

    The evidence stands in one column beside the labels where the room allows, else behind each label.
    """
    known = [(escape_controls(label), evidence) for label, evidence in pairs]
    room = width - 12
    beside = max((cell_len(label) + 2 for label, evidence in known if evidence), default=0)
    lines: list[Text] = []
    for label, evidence in known:
        if not evidence:
            parts = wrapped(label, room, indent="")
        elif beside <= room * 3 // 5:
            parts = wrapped(evidence, room, indent=" " * beside, first=fit(label, beside))
        else:
            parts = wrapped(f"{label}: {evidence}", room, indent="  ", first="")
        lead = " " * indent + fit("" if lines else head, 12 - indent)
        lines.append(line((lead, FAINT), parts[0]))
        lines.extend(line(" " * len(lead) + part) for part in parts[1:])
    return lines


def distinct(names: Sequence[str], width: int) -> list[str]:
    """Each in that many cells, cut in the middle; of those that would read alike then, only what tells them apart.

    Where that is too long, too, the number of its step goes before it.
    """
    cut = _cut(names, width)
    alike = [at for at, text in enumerate(cut) if cut.count(text) > 1 and names.count(names[at]) == 1]
    for at, text in zip(alike, _cut(_differences([names[at] for at in alike]), width), strict=True):
        cut[at] = text
    seen = Counter(cut)
    return [
        fit_middle(f"{at} {name}", width) if seen[text] > 1 else text
        for at, (name, text) in enumerate(zip(names, cut, strict=True), 1)
    ]


def _cut(names: Sequence[str], width: int) -> list[str]:
    return [fit_middle(name, width) for name in names]


def _differences(names: Sequence[str]) -> list[str]:
    """Word by word, without what all of them have: whole words, and beginnings that end in ``_``."""
    columns = list(zip_longest(*(name.split() for name in names), fillvalue=""))
    told = [_without_beginning(column) for column in columns if len(set(column)) > 1]
    return [" ".join(filter(None, words)) for words in zip(*told, strict=True)] if told else list(names)


def _without_beginning(words: Sequence[str]) -> list[str]:
    parts = [word.split("_") for word in words if word]
    alike = sum(1 for _ in takewhile(lambda found: len(set(found)) == 1, zip(*parts, strict=False)))
    shared = min(alike, *(len(part) - 1 for part in parts))
    return ["…" + "_".join(word.split("_")[shared:]) if word and shared else word for word in words]
