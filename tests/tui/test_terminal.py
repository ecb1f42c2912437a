import pytest
from textual.events import CursorPosition

from fstui.report.characters import is_ascii_only
from fstui.tui import prepare
from fstui.tui.terminal import SlowLineDriver, is_mouse_enabled


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"LANG": "en_GB.UTF-8", "TERM": "xterm-256color"}, False),
        ({"LANG": "C.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8"}, False),
        ({"LANG": "C"}, True),
        ({"LC_ALL": "POSIX", "LANG": "en_GB.UTF-8"}, True),
        ({}, True),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),  # Python sets this itself under a C locale
        ({"LC_CTYPE": "en_GB.UTF-8", "LANG": "C"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux"}, True),
        ({"LANG": "en_GB.UTF-8", "TERM": "linux", "FSTUI_ASCII": "0"}, False),
        ({"LANG": "en_GB.UTF-8", "FSTUI_ASCII": "1"}, True),
    ],
)
def test_ascii_is_chosen_from_the_environment(environ: dict[str, str], expected: bool) -> None:
    assert is_ascii_only(environ) is expected


def test_settings_of_the_user_are_kept() -> None:
    environ = {"TEXTUAL_THEME": "textual-light", "TEXTUAL_ANIMATIONS": "full"}
    prepare(environ)
    assert environ == {"TEXTUAL_THEME": "textual-light", "TEXTUAL_ANIMATIONS": "full"}


def test_gnu_screen_gets_256_colours() -> None:
    environ = {"STY": "123.pts-0.db7", "COLORTERM": "truecolor"}
    prepare(environ)
    assert environ["TEXTUAL_COLOR_SYSTEM"] == "256"


class RecordedDriver(SlowLineDriver):
    """A driver that records what it sends instead of sending it to a terminal."""

    def __init__(self) -> None:
        self._mouse = True
        self.written: list[str] = []

    def write(self, data: str) -> None:
        self.written.append(data)

    def flush(self) -> None:
        """Do nothing: no output is buffered."""


def test_mouse_movements_are_never_enabled() -> None:
    driver = RecordedDriver()
    driver._enable_mouse_support()
    driver._disable_mouse_support()
    assert "".join(driver.written) == "\x1b[?1000h\x1b[?1006h\x1b[?1000l\x1b[?1006l"
    assert is_mouse_enabled({"TERM": "xterm"}) and not is_mouse_enabled({"FSTUI_MOUSE": "0"})


def test_a_line_is_behind_until_the_terminal_answers() -> None:
    driver = RecordedDriver()
    driver.request_reply()
    assert not driver.is_behind, "the terminal may never answer"
    driver.request_reply()
    assert driver.written == ["\x1b[6n"]
    driver.process_message(CursorPosition(0, 0))
    assert not driver.is_behind
    driver.request_reply()
    driver.request_reply()
    assert driver.is_behind and driver.written == ["\x1b[6n"] * 2
    driver.process_message(CursorPosition(0, 0))
    assert not driver.is_behind


def test_a_lost_answer_delays_the_screen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("fstui.tui.terminal.time.monotonic", lambda: now_s)
    driver = RecordedDriver()
    driver.request_reply()
    driver.process_message(CursorPosition(0, 0))
    driver.request_reply()
    assert driver.is_behind
    now_s += 21
    driver.request_reply()
    assert not driver.is_behind and len(driver.written) == 3
    driver.process_message(CursorPosition(0, 0))
    driver.request_reply()
    assert driver.is_behind, "the terminal answers again"


def test_leaving_waits_for_an_answer_of_a_slow_line(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, answers = 0.0, True

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds
        if answers and now_s >= 1.5:
            driver.process_message(CursorPosition(0, 0))

    monkeypatch.setattr("fstui.tui.terminal.time.monotonic", lambda: now_s)
    monkeypatch.setattr("fstui.tui.terminal.time.sleep", sleep)
    driver = RecordedDriver()
    driver.request_reply()
    driver._await_reply()
    assert now_s == pytest.approx(1.5, abs=0.02)
    answers = False
    driver.request_reply()
    now_s = 30.0
    driver.request_reply()
    driver._await_reply()
    assert now_s == 30.0, "the terminal did not answer before, so nothing is awaited"
