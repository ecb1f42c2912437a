"""Markdown, for tickets."""

import re
from collections.abc import Iterator, Sequence

from fstui.report.characters import escape_controls, join_lines
from fstui.report.sections import Report, Section, alignment, cell_text

EXTENSION = "md"
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&$@])")


def render(report: Report, width: int | None = None) -> str:
    blocks = [[f"### {_escape(report.title)}"]] if report.title else []
    for section in report.text_sections:
        if not section.only_on_terminal:
            blocks += _section(section)
    return "\n".join(join_lines(block) for block in blocks if block)


def _section(section: Section) -> Iterator[list[str]]:
    if section.title:
        yield [f"**{_escape(section.title)}**"]
    yield _table(section)
    yield [f"{'- ' if len(section.lines) > 1 else ''}{_escape(line)}" for line in section.lines]
    for label, points in section.points:
        if points:
            yield [f"**{_escape(label.capitalize())}**", "", *(f"- {_escape(line)}" for line in points)]
    if section.drawn:
        lines = [escape_controls(cell_text(line)) for line in section.drawn]
        yield [f"{_fence(lines)}text", *lines, _fence(lines)]


def _table(section: Section) -> list[str]:
    if not section.rows:
        return []
    delimiters = ["---:" if side == ">" else "---" for side in alignment(section)]
    cells = [[_escape(name) for name in section.header], delimiters]
    cells += [[_escape(cell_text(cell)) for cell in row] for row in section.rows]
    return [f"| {' | '.join(row)} |" for row in cells]


def _fence(lines: Sequence[str]) -> str:
    """Return a code fence that is longer than any run of backticks in the lines (CommonMark 0.31, 4.5)."""
    return "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))


def _escape(text: str) -> str:
    """Escape control characters, and all characters that are markup in Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", escape_controls(text))
