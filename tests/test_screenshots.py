"""The README's pictures show what the app shows today. Where they do not: python -m tests.screenshots"""

from __future__ import annotations

import pytest

from tests import screenshots


async def test_the_pictures_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    run, pictures = await screenshots.drawn()
    assert {"storage", "plan", "run", "result"} <= pictures.keys()
    for name, picture in pictures.items():
        kept = screenshots.words((screenshots.PLACE / f"{name}.svg").read_text())
        assert screenshots.words(picture) == kept, f"{name}.svg is of another day: python -m tests.screenshots"
    page = (screenshots.PLACE / "page.png").read_bytes()
    assert screenshots.told_by(page) == screenshots.page_digest(run), "page.png is of another day"


def test_what_is_of_its_time_is_left_out() -> None:
    picture = "<text x='1'>took 14.2 s</text><text>kept &amp;&#160;told</text>"
    assert screenshots.words(picture) == ["took", "…", "kept", "&", "told"]
