"""The sign of each verdict, beside its word: never colour alone. A room of its own: the first screen needs no more."""

from __future__ import annotations

from fstui.model import Verdict

GLYPHS: dict[Verdict, str] = {
    "lost": "✗", "not-durable": "✗", "suspicious": "!", "cannot-tell": "?",
    "plausible": "~", "consistent": "✓", "kept": "✓",
}  # fmt: skip
