"""The sign of each verdict, and of each answer to "is it slow?", beside its word: never colour alone.

A room of its own: the first screen needs no more.
"""

from __future__ import annotations

from fstui.model.judgement import Answer, Verdict

GLYPHS: dict[Verdict, str] = {
    "lost": "✗", "not-durable": "✗", "suspicious": "!", "cannot-tell": "?",
    "plausible": "~", "consistent": "✓", "kept": "✓",
}  # fmt: skip

SPEEDS: dict[Answer, str] = {"stalls": "▲", "slow": "!", "unknown": "?", "normal": "✓"}
