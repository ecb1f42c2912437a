"""Format numbers for people: "812/s", "1.2 ms", "19.0 MiB", "2 m 10 s"."""

import re
from collections.abc import Sequence

_SEPARATOR = "\xa0"
"""A non-breaking space. The narrow non-breaking space, U+202F, is missing in some fonts and in 8-bit encodings."""
_NUMBER_WITH_SPACES = r"(?<![\w.])\d{1,3}(?: \d{3})+(?!\w)|\d %"
"""In Markdown files, ordinary spaces separate groups of three digits, and a number from the percent sign."""


def count(number: float) -> str:
    """A whole number in groups of three digits: ``211 402``."""
    return f"{round(number):,}".replace(",", _SEPARATOR)


def two_decimals(number: float) -> str:
    """A number as sysbench prints it, but in groups of three digits: ``6 144.44``."""
    return f"{number:,.2f}".replace(",", _SEPARATOR)


def with_nonbreaking_spaces(page: str) -> str:
    """Replace the spaces in the numbers of a page with non-breaking spaces, as `count` and `percent` write them."""
    return re.sub(_NUMBER_WITH_SPACES, lambda number: number[0].replace(" ", _SEPARATOR), page)


def counted(number: int, thing: str) -> str:
    """``1 step``, ``8 steps``, ``2 boxes``."""
    plural = "es" if thing.endswith(("s", "x", "sh", "ch")) else "s"
    return f"{count(number)} {thing}{plural if number != 1 else ''}"


def rate(per_s: float) -> str:
    """A rate without its unit: ``812``, ``13.4``, ``0.25``."""
    if per_s >= 99.95:
        return count(per_s)
    return f"{per_s:.1f}" if per_s >= 9.995 else f"{per_s:.2f}"


def duration_ns(ns: float) -> str:
    """A latency in the unit that fits: ``850 ns``, ``4.1 µs``, ``1.2 ms``, ``260 ms``, ``12.4 s``."""
    for limit, divisor, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
        if ns < limit * 0.9995:  # 999.6 µs would print as "1000 µs"
            value = ns / divisor
            return f"{value:.0f} {unit}" if unit == "ns" or value >= 99.95 else f"{value:.1f} {unit}"
    return f"{ns / 1e9:.1f} s"


def seconds(value: float) -> str:
    """A duration for people: ``0.4 s``, ``14.6 s``, ``2 m 10 s``, ``1 h 5 m``."""
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} m {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} m"


def clock(value: float) -> str:
    """A duration as on a clock: ``0:03``, ``2:10``."""
    whole = max(0, round(value))
    return f"{whole // 60}:{whole % 60:02d}"


def size(number: float) -> str:
    """Bytes in binary units: ``512 B``, ``16 KiB``, ``19.0 MiB``, ``1.2 TiB``."""
    value, unit = _scaled(number, 1023.95, ("B", "KiB", "MiB", "GiB", "TiB"))
    return f"{value:.0f} {unit}" if unit == "B" or (value == int(value) and unit == "KiB") else f"{value:.1f} {unit}"


def write_limit(what: str, value: int) -> str:
    """Return a cgroup's limit for writes as text: ``146.5 KiB/s`` for ``wbps``, ``10 writes/s`` for ``wiops``."""
    return f"{size(value)}/s" if what.endswith("bps") else f"{value} writes/s"


def short_size(number: float, suffix: str = "") -> str:
    """Bytes for a narrow column: ``212 G``, ``7.8 G``, ``610 M``; with the suffix ``iB``: ``610 MiB``."""
    value, unit = _scaled(number, 999.5, ("B", *(f"{unit}{suffix}" for unit in "KMGT")))
    return f"{value:.0f} {unit}" if value >= 9.95 or unit == "B" else f"{value:.1f} {unit}"


def _scaled(number: float, limit: float, units: Sequence[str]) -> tuple[float, str]:
    """Return the number in the first unit in which it is below the limit, or in the last one."""
    scale = next((exponent for exponent in range(len(units)) if number / 1024**exponent < limit), len(units) - 1)
    return number / 1024**scale, units[scale]


def exact_size(number: int) -> str:
    """The exact number of bytes, in the format that ``--set`` accepts: ``16K``, ``1M``, ``1000``."""
    for unit, factor in (("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        units, rest = divmod(number, factor)
        if not rest and 0 < units < 10_000:
            return f"{units}{unit}"
    return str(number)


def rotation(rpm: int) -> str:
    """A rotational speed as in data sheets: ``7200 rpm``, ``15 000 rpm``."""
    return f"{rpm if rpm < 10_000 else count(rpm)} rpm"


def percent(share: float, digits: int = 0) -> str:
    """A share: ``44 %``."""
    return f"{100 * share:.{digits}f}{_SEPARATOR}%"


def ratio(value: float) -> str:
    """A ratio with two decimals: ``1.00``, ``0.97``."""
    return f"{value:.2f}"
