"""One glyph and one colour per verdict, and what stands for a glyph where only ASCII can be shown."""

from __future__ import annotations

from fstui.model.judgement import Answer, Verdict
from fstui.model.steps import StepStatus
from fstui.report.glyphs import GLYPHS, SPEEDS

DOUBT = "bold yellow"
BAD = "bold red"
GOOD = "bold green"
FAINT = "dim"
HEAD = "bold"
KEY = "bold cyan"
"""What can be pressed."""
HEAT = ("cyan", "bold cyan", "bold magenta")
"""Few, some, most: colours that say neither good nor bad."""

_STYLES: dict[Verdict, str] = {
    "lost": BAD, "not-durable": BAD, "suspicious": DOUBT, "cannot-tell": HEAD, "plausible": HEAD,
    "consistent": GOOD, "kept": GOOD,
}  # fmt: skip

_SPEEDS: dict[Answer, str] = {"stalls": BAD, "slow": DOUBT, "unknown": HEAD, "normal": GOOD}

_STEPS: dict[StepStatus, tuple[str, str]] = {
    "finished": ("✓", GOOD),
    "failed": ("✗", BAD),
    "skipped": ("–", ""),
    "stopped": ("–", ""),
    "disturbed": ("!", DOUBT),
}

_WORDS: dict[Verdict, str] = {
    "consistent": "CONSISTENT with durable",
    "cannot-tell": "CANNOT TELL",
    "not-durable": "NOT DURABLE",
}

_ASCII = str.maketrans(
    {
        "✓": "+", "✗": "x", "▸": ">", "·": "-", "▌": ">", "▲": "^", "–": "-", "—": "-", "─": "-", "┤": "|",
        "└": "`", "├": "|", "│": "|", "›": ">", "×": "x", "…": "~", "≤": "<", "≥": ">", "µ": "u", "→": ">", "←": "<",
        "↑": "^", "↓": "v", "“": '"', "”": '"', "‘": "'", "’": "'", "╌": "-", "•": "*", "●": "o", "◆": "#", "§": "S",
        "╳": "x", "\xa0": " ", "\u202f": " ",
        "━": "=", "╸": "-", "┌": "+", "┐": "+", "┘": "+", "┬": "+", "┴": "+", "┼": "+", "○": ".",
        "◂": "<", "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*", "█": "#",
    }
)  # fmt: skip
_ASCII |= {0x2800 + dots: "..::++##"[dots.bit_count() - 1] for dots in range(1, 256)}
"""Braille by how many dots it has."""


def of_verdict(verdict: Verdict | None) -> tuple[str, str]:
    """Glyph and style; blank for a note."""
    return (GLYPHS[verdict], _STYLES[verdict]) if verdict else (" ", "")


def of_speed(answer: Answer) -> tuple[str, str]:
    return SPEEDS[answer], _SPEEDS[answer]


def of_step(status: StepStatus) -> tuple[str, str]:
    return _STEPS[status]


def not_bold(style: str) -> str:
    """Its colour alone: of what fills an area, and of what is not chosen."""
    return style.removeprefix("bold").strip()


def word(verdict: Verdict) -> str:
    """The verdict as the first word of the result: ``SUSPICIOUS``, ``CONSISTENT with durable``."""
    return _WORDS.get(verdict, verdict.upper())


def in_ascii(text: str) -> str:
    """The same text, cell by cell, in ASCII: columns stay where they are."""
    return text if text.isascii() else "".join(c if c.isascii() else "?" for c in text.translate(_ASCII))
