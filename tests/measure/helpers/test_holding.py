"""A directory of fstui's own, removed through the descriptor that holds it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fstui.measure.helpers import holding
from fstui.measure.wire.held import MARK, make


def test_it_is_emptied_though_its_descriptor_says_what_it_held_when_it_was_first_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on CIFS under Linux 6.12, where nothing was removed and the mark stayed behind."""
    path = tmp_path / "directory"
    held = make(str(path))
    (path / "data").write_bytes(b"x")
    anew = os.listdir
    monkeypatch.setattr(os, "listdir", lambda where: [] if where == held else anew(where))
    try:
        assert sorted(holding.names_in(held)) == ["data", MARK]
        holding.remove(held)
    finally:
        os.close(held)
    assert not path.exists()
