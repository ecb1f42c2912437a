"""Whether a server has taken what it was started with: options are clamped, renamed and ignored without an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SWITCH = {"on": "1", "off": "0", "true": "1", "false": "0", "yes": "1", "no": "0"}
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?) ?([a-z]*)")
_UNITS = {
    "": 1.0, "b": 1.0, "k": 2.0**10, "kb": 2.0**10, "m": 2.0**20, "mb": 2.0**20, "g": 2.0**30, "gb": 2.0**30,
    "t": 2.0**40, "tb": 2.0**40, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0,
}  # fmt: skip
"""https://dev.mysql.com/doc/refman/8.4/en/program-variables.html,
https://www.postgresql.org/docs/current/config-setting.html"""


def differences(asked: Mapping[str, Any], in_force: Mapping[str, str]) -> Iterator[str]:
    """``sync_binlog = 1 was asked for, 0 is in force``; nothing of a name that is no variable of the server's."""
    for name, value in asked.items():
        has = in_force.get(name.lower())
        if has is not None and not _same(str(value).lower(), has.lower()):
            yield f"{name} = {value} was asked for, {has} is in force"


def _same(asked: str, has: str) -> bool:
    """What cannot be compared counts as the same: a bare number in a unit of the server's, and -1, its own choice."""
    asked, has = _SWITCH.get(asked, asked), _SWITCH.get(has, has)
    wanted, found = _QUANTITY.fullmatch(asked), _QUANTITY.fullmatch(has)
    if not wanted or not found or {wanted[2], found[2]} - _UNITS.keys():
        return asked == has
    if wanted[1] == "-1" or (found[2] and not wanted[2]):
        return True
    return float(wanted[1]) * _UNITS[wanted[2]] == float(found[1]) * _UNITS[found[2]]
