"""Forms: the title and the settings of a scenario or a power-cut test, and the values that a user chose."""

import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused, hint_for

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d)")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}

Scalar = bool | int | float | str


class Setting(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One setting. Its type is that of its default value; a list makes one step per value.

    A setting with choices may also be given as a list.
    """

    value: Scalar | list[Scalar]
    unit: str = ""
    help: str = ""
    choices: list[Scalar] | dict[str, dict[str, Any]] | None = None
    """The allowed values, or names that each select several options."""
    min: float | None = None
    max: float | None = None
    absent: Scalar | None = None
    """The value that means "not set". A key with this value is not passed on, so the receiver's own default applies."""

    def is_set_by(self, value: Scalar) -> bool:
        # with the types, because Python considers 1 and True equal
        return self.absent is None or (type(value), value) != (type(self.absent), self.absent)


class Form(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    title: str
    question: str
    help: str = ""
    settings: dict[str, Setting] = msgspec.field(default_factory=dict)


def chosen_values(form: Form, overrides: Mapping[str, str]) -> dict[str, Any]:
    """Return the value of every setting, with the user's ``key=value`` pairs applied. Raises Refused."""
    values: dict[str, Any] = {key: setting.value for key, setting in form.settings.items()}
    for key, text in overrides.items():
        if key not in form.settings:
            names = ", ".join(form.settings)
            raise Refused(f"{form.name} has no setting '{key}'.{hint_for(key, form.settings)} It has: {names}.")
        values[key] = _parse(key, form.settings[key], text)
    return values


def changed_values(form: Form, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the values that differ from the defaults, as ``key=value`` pairs. ``values``: as in a run document."""
    return {
        key: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for key, value in values.items()
        if key not in form.settings or value != form.settings[key].value
    }


def _parse(key: str, setting: Setting, text: str) -> Scalar | list[Scalar]:
    is_list = isinstance(setting.value, list)
    example = as_list(setting.value)[0]
    values = [_scalar(key, example, item.strip(), setting.unit) for item in text.split(",")]
    if len(values) > 1 and not is_list and not setting.choices:  # several choices make one step each
        raise Refused(f"{key} takes one value, not '{text}'")
    for value in values:
        check_value(key, setting, value)
    return values if is_list or len(values) > 1 else values[0]


def size_of(text: str) -> int | None:
    """Return the bytes of ``16K`` or ``1.5 MiB``, or None without such a unit. Raises OverflowError."""
    size = _SIZE.fullmatch(text)
    return int(float(size[1]) * _UNITS[size[2].upper()]) if size else None


def seconds_of(text: str) -> int | float:
    """Return the seconds of ``3``, ``0.5``, ``3s``, ``10m`` or ``2h``. Raises ValueError."""
    if duration := _DURATION.fullmatch(text):
        seconds = float(duration[1]) * _SECONDS[duration[2]]
        return int(seconds) if seconds.is_integer() else seconds
    return int(text) if text.isdecimal() else float(text)


def _scalar(key: str, example: Scalar, text: str, unit: str) -> Scalar:
    try:
        if unit == "bytes" and (size := size_of(text)) is not None:
            return size
        if isinstance(example, bool):
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if unit == "s" and not isinstance(example, str):
            return seconds_of(text)
        return type(example)(text)
    except (ValueError, KeyError, OverflowError):
        if unit == "s":
            raise Refused(f"{key} takes a time such as 30s or 10m, not '{text}'") from None
        expected = {"bool": "true or false", "int": "a whole number", "float": "a number"}[type(example).__name__]
        unit_text = f" of {unit}" if unit else ""
        raise Refused(f"{key} takes {expected}{unit_text}, not '{text}'") from None


def check_value(key: str, setting: Setting, value: Scalar) -> None:
    """Check that the setting allows the value. Raises Refused."""
    if setting.choices is not None and value not in setting.choices:
        allowed = ", ".join(map(str, setting.choices))
        raise Refused(f"{key} must be one of {allowed}, not '{value}'")
    if isinstance(value, str):
        return
    if isinstance(value, float) and not isfinite(value):
        raise Refused(f"{key} must be a finite number, not {value}")
    if setting.min is not None and value < setting.min:
        raise Refused(f"{key} must be at least {setting.min:.12g}, not {value}")
    if setting.max is not None and value > setting.max:
        raise Refused(f"{key} must be at most {setting.max:.12g}, not {value}")


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
