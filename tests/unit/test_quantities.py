"""Numbers → words, and names from the system → safe text."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fstui import quantities
from fstui.quantities import (
    clock,
    count,
    counted,
    duration_ns,
    plain,
    rate,
    ratio,
    seconds,
    short_size,
    size,
    typed_size,
)

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40


@pytest.mark.parametrize(
    ("words", "number", "text"),
    [
        (count, 0, "0"),
        (count, 211402, "211 402"),
        (rate, 0, "0.00"),
        (rate, 0.25, "0.25"),
        (rate, 9.994, "9.99"),
        (rate, 9.996, "10.0"),
        (rate, 13.44, "13.4"),
        (rate, 99.94, "99.9"),
        (rate, 99.96, "100"),
        (rate, 812.4, "812"),
        (rate, 21200, "21 200"),
        (duration_ns, 0, "0 ns"),
        (duration_ns, 850, "850 ns"),
        (duration_ns, 999, "999 ns"),
        (duration_ns, 999.6, "1.0 µs"),
        (duration_ns, 4100, "4.1 µs"),
        (duration_ns, 99_949, "99.9 µs"),
        (duration_ns, 99_950, "100 µs"),
        (duration_ns, 999_400, "999 µs"),
        (duration_ns, 999_960, "1.0 ms"),
        (duration_ns, 260_000_000, "260 ms"),
        (duration_ns, 999_960_000, "1.0 s"),
        (duration_ns, 12_400_000_000, "12.4 s"),
        (seconds, 0.44, "0.4 s"),
        (seconds, 14.6, "14.6 s"),
        (seconds, 59.94, "59.9 s"),
        (seconds, 59.96, "1 m 0 s"),
        (seconds, 130, "2 m 10 s"),
        (seconds, 3599.6, "1 h 0 m"),
        (seconds, 3900, "1 h 5 m"),
        (clock, 3, "0:03"),
        (clock, 59.6, "1:00"),
        (clock, 130, "2:10"),
        (clock, -1, "0:00"),
        (size, 512, "512 B"),
        (size, 1023, "1023 B"),
        (size, 16 * KIB, "16 KiB"),
        (size, 1.5 * KIB, "1.5 KiB"),
        (size, 1023.94 * KIB, "1023.9 KiB"),
        (size, 1023.95 * KIB, "1.0 MiB"),
        (size, 19 * MIB, "19.0 MiB"),
        (size, 1.2 * TIB, "1.2 TiB"),
        (size, 5000 * TIB, "5000.0 TiB"),
        (short_size, 999, "999 B"),
        (short_size, 1000, "1.0 K"),
        (short_size, 9.94 * GIB, "9.9 G"),
        (short_size, 9.96 * GIB, "10 G"),
        (short_size, 212 * GIB, "212 G"),
        (short_size, 610 * MIB, "610 M"),
        (short_size, 999.6 * MIB, "1.0 G"),
        (typed_size, 0, "0"),
        (typed_size, 512, "512"),
        (typed_size, 16 * KIB, "16K"),
        (typed_size, 1536 * KIB, "1536K"),
        (typed_size, GIB, "1G"),
        (typed_size, 10**12, "1000000000000"),
        (ratio, 0.9966, "1.00"),
        (ratio, 0.974, "0.97"),
    ],
)  # fmt: skip
def test_a_number_reads_as(words: Callable[[float], str], number: float, text: str) -> None:
    assert words(number) == text


@pytest.mark.parametrize(("number", "words"), [(0, "0 steps"), (1, "1 step"), (8, "8 steps"), (1200, "1 200 steps")])
def test_things_are_counted(number: int, words: str) -> None:
    assert counted(number, "step") == words


@given(st.text())
def test_no_control_or_direction_character_and_no_stray_byte_reaches_the_terminal(name: str) -> None:
    shown = plain(name)
    assert all(unicodedata.category(letter) not in ("Cc", "Cs", "Zl", "Zp") for letter in shown)
    assert not set(shown) & set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")
    shown.encode()


@given(st.binary())
def test_a_name_that_is_not_utf_8_can_be_printed(name: bytes) -> None:
    plain(name.decode(errors="surrogateescape")).encode()


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("db7", "db7"),
        ("Größe 測試 é", "Größe 測試 é"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\r", "a\\x0ab\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        (b"\xff\xfe".decode(errors="surrogateescape"), "\\xff\\xfe"),
        ("right\u202eleft", "right\\u202eleft"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
    ],
)
def test_a_name_is_shown_as(name: str, shown: str) -> None:
    assert quantities.plain(name) == shown
