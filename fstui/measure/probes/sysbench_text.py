"""What sysbench 1.x prints, read back: its interval lines, its totals, its histogram (src/sysbench.c, its reports)."""

from __future__ import annotations

import re
from typing import Any

NUMBER, COUNT = r"(\d{1,15}(?:\.\d{1,15})?)(?![\d.])", r"(\d{1,15})(?![\d.])"
"""As it prints them; what is longer, or has two points, is none."""
_INTERVAL = re.compile(
    rf"\[ {COUNT}s \] thds: \d+ tps: {NUMBER} qps: {NUMBER} \(r/w/o: {NUMBER}/{NUMBER}/{NUMBER}\) "
    rf"lat \(ms,95%\): {NUMBER} err/s:? {NUMBER}"
)
_WHOLE = re.compile(r"-?\d{1,18}(?:\.\d{1,15})?")
_BUCKET = re.compile(rf"\s+{NUMBER} \|[* ]*\s{COUNT}$")
_COUNTS = {
    "read": rf"\s+read:\s+{COUNT}",
    "write": rf"\s+write:\s+{COUNT}",
    "other": rf"\s+other:\s+{COUNT}",
    "total": rf"\s+total:\s+{COUNT}",
}
_PER_S = {
    "transactions": rf"\s+transactions:\s+{COUNT}\s+\({NUMBER} per sec\.\)",
    "queries": rf"\s+queries:\s+{COUNT}\s+\({NUMBER} per sec\.\)",
    "ignored_errors": rf"\s+ignored errors:\s+{COUNT}\s+\({NUMBER} per sec\.\)",
    "reconnects": rf"\s+reconnects:\s+{COUNT}\s+\({NUMBER} per sec\.\)",
}
_LATENCY_MS = {
    "min": rf"\s+min:\s+{NUMBER}",
    "avg": rf"\s+avg:\s+{NUMBER}",
    "max": rf"\s+max:\s+{NUMBER}",
    "p95": rf"\s+95th percentile:\s+{NUMBER}",
}


def interval(line: str) -> dict[str, float] | None:
    """One line of ``--report-interval=1``; None for any other."""
    match = _INTERVAL.match(line)
    if match is None:
        return None
    t_s, tps, qps, _, _, _, p95_ms, errors_per_s = map(float, match.groups())
    return {"t_s": t_s, "tps": tps, "qps": qps, "p95_ms": p95_ms, "errors_per_s": errors_per_s, "length_s": 1.0}


def totals(text: list[str]) -> dict[str, Any] | None:
    """The report at the end, to the digit; None where it is not there."""
    per_s = {name: found for name, pattern in _PER_S.items() if (found := _first(pattern, text))}
    latency = {name: float(found[0]) for name, pattern in _LATENCY_MS.items() if (found := _first(pattern, text))}
    counts = {name: int(found[0]) for name, pattern in _COUNTS.items() if (found := _first(pattern, text))}
    if "transactions" not in per_s or "queries" not in per_s:
        return None
    return {
        "queries": counts,
        "transactions": int(per_s["transactions"][0]),
        "tps": float(per_s["transactions"][1]),
        "qps": float(per_s["queries"][1]),
        "latency_ms": latency,
        **{name: int(per_s[name][0]) for name in ("ignored_errors", "reconnects") if name in per_s},
    }


def histogram(text: list[str]) -> list[tuple[float, int]]:
    """``--histogram=on``: the value of each bucket in ms, and its count."""
    return [(float(match[1]), int(match[2])) for line in text if (match := _BUCKET.match(line))]


def counted(text: list[str], columns: int) -> dict[str, list[int | None]]:
    """Rows of our own script: a name, and so many numbers, of which some are missing. Whatever else is none.

    A number that is the difference of two may begin below zero.
    """
    rows = [line.split("\t")[1:] for line in text if line.startswith("row\t")]
    return {
        name: [round(float(number)) if number else None for number in numbers]
        for name, *numbers in rows
        if len(numbers) == columns and all(not number or _WHOLE.fullmatch(number) for number in numbers)
    }


def _first(pattern: str, text: list[str]) -> tuple[str, ...] | None:
    compiled = re.compile(pattern)
    return next((match.groups() for line in text if (match := compiled.match(line))), None)
