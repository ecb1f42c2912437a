"""What the terminal can show, from the environment."""

from __future__ import annotations

import pytest

from fstui.tui import prepare
from fstui.tui.terminal import is_ascii_only


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LANG": "en_GB.UTF-8", "TERM": "xterm-256color"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, True),
        ({}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),  # Python's own doing under a C locale
        ({"LC_CTYPE": "en_GB.UTF-8", "LANG": "C"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux"}, True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux", "FSTUI_ASCII": "0"}, False),
        ({"LANG": "en_GB.UTF-8", "FSTUI_ASCII": "1"}, True),
    ],
)
def test_ascii_is_chosen_by_itself(environ: dict[str, str], expected: bool) -> None:
    assert is_ascii_only(environ) is expected


def test_what_the_user_has_set_stays() -> None:
    environ = {"TEXTUAL_THEME": "textual-light", "TEXTUAL_ANIMATIONS": "full"}
    prepare(environ)
    assert environ == {"TEXTUAL_THEME": "textual-light", "TEXTUAL_ANIMATIONS": "full"}


def test_gnu_screen_gets_256_colours_whatever_it_inherited() -> None:
    environ = {"STY": "123.pts-0.db7", "COLORTERM": "truecolor"}
    prepare(environ)
    assert environ["TEXTUAL_COLOR_SYSTEM"] == "256"
