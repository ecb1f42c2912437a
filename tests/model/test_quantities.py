"""Numbers → words, and names from the system → safe text."""

from collections.abc import Callable

import pytest

from fstui.model.quantities import (
    clock,
    count,
    counted,
    duration_ns,
    exact_size,
    rate,
    ratio,
    seconds,
    short_size,
    size,
)

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40


@pytest.mark.parametrize(
    ("words", "number", "text"),
    [
        (count, 0, "0"),
        (count, 211402, "211\xa0402"),
        (rate, 0, "0.00"),
        (rate, 0.25, "0.25"),
        (rate, 9.994, "9.99"),
        (rate, 9.996, "10.0"),
        (rate, 13.44, "13.4"),
        (rate, 99.94, "99.9"),
        (rate, 99.96, "100"),
        (rate, 812.4, "812"),
        (rate, 21200, "21\xa0200"),
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
        (exact_size, 0, "0"),
        (exact_size, 512, "512"),
        (exact_size, 16 * KIB, "16K"),
        (exact_size, 1536 * KIB, "1536K"),
        (exact_size, GIB, "1G"),
        (exact_size, 10**12, "1000000000000"),
        (ratio, 0.9966, "1.00"),
        (ratio, 0.974, "0.97"),
    ],
)  # fmt: skip
def test_number_formats(words: Callable[[float], str], number: float, text: str) -> None:
    assert words(number) == text


@pytest.mark.parametrize(("number", "words"), [(0, "0 steps"), (1, "1 step"), (8, "8 steps"), (1200, "1\xa0200 steps")])
def test_plurals(number: int, words: str) -> None:
    assert counted(number, "step") == words
    assert counted(number, "box") == words.replace("step", "box").replace("boxs", "boxes")
