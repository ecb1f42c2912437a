"""Scenario files: TOML → Scenario → concrete steps. Every mistake is named by file, table and key.

Shipped scenarios stand in ``scenarios/`` (in the checkout beside the package, in a wheel inside it), a user's own in
``scenarios/`` of the XDG config directory; a name with a slash or ending in ``.toml`` is a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from fstui.model import Base, PlannedStep, Refused, ScenarioRef
from fstui.quantities import plain
from fstui.state import paths
from fstui.step_settings import PROBES, where_in

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")
_FIELD = re.compile(r"\{(\w+)\}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

WITH_SERVER = ("sysbench",)

_ORDER = (
    "odirect-truth", "fsync-rate", "wal-etcd", "wal-postgres", "sqlite-commit", "sysbench-oltp", "fileio-classic",
)  # fmt: skip

Scalar = bool | int | float | str


class Setting(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that the user may change. Its type is its value's; a list makes one step per value."""

    value: Scalar | list[Scalar]
    unit: str = ""
    help: str = ""
    choices: list[Scalar] | dict[str, dict[str, Any]] | None = None
    """The values allowed, or words that each stand for several options."""
    min: float | None = None
    max: float | None = None


class Server(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The database server that the steps want."""

    kind: str
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class Scenario(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan of steps, as its file says."""

    name: str
    title: str
    question: str
    help: str = ""
    settings: dict[str, Setting] = msgspec.field(default_factory=dict)
    server: Server | None = None
    steps: list[dict[str, Any]]


class StepHead(Base, frozen=True, kw_only=True):
    """What every step has besides its probe's own settings."""

    name: str
    probe: str
    for_each: list[str] = msgspec.field(default_factory=list)
    """Settings that may be lists: a step for each combination, the first one outermost."""
    only: dict[str, list[Scalar]] = msgspec.field(default_factory=dict)
    """Of these settings, the values for which this table is meant."""


def names() -> list[str]:
    """All scenarios that can be run by name: the shipped ones in their order of use, then the user's own."""
    found = {path.stem for place in _places() if place.is_dir() for path in place.glob("*.toml")}
    return [name for name in _ORDER if name in found] + sorted(found - set(_ORDER))


def load(name: str) -> Scenario:
    """A scenario by its name or its file. Raises Refused with file, table and key of a mistake."""
    path = _path_of(name)
    try:
        scenario = _read(path)
    except OSError as error:
        raise Refused(f"{plain(str(path))}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{plain(str(path))}: {where_in(error)}") from None
    except Refused as mistake:
        raise Refused(f"{plain(str(path))}: {mistake}") from None
    if "seconds" not in scenario.settings:
        seconds = Setting(value=1, unit="s", min=0, max=86400, help="measured time per step")
        scenario = msgspec.structs.replace(scenario, settings={"seconds": seconds, **scenario.settings})
    _check(scenario, plain(str(path)))
    return scenario


def expand(scenario: Scenario, overrides: dict[str, str]) -> tuple[ScenarioRef, tuple[PlannedStep, ...]]:
    """The settings with the user's ``key=value`` pairs applied, and every step with its values filled in.

    Raises Refused for an unknown key, a value of the wrong type or out of its choices, and an impossible step.
    """
    values = {key: setting.value for key, setting in scenario.settings.items()}
    for key, text in overrides.items():
        if key not in scenario.settings:
            known = ", ".join(scenario.settings)
            raise Refused(f"{plain(scenario.name)} has no setting '{plain(key)}'. It has: {plain(known)}.")
        values[key] = _parse(key, scenario.settings[key], text)
    steps = [step for table in scenario.steps for step in _steps_of(scenario, table, values)]
    if not steps:
        raise Refused("no step is left with these settings")
    name, times = Counter(step.name for step in steps).most_common(1)[0]
    if times > 1:  # a finding names the steps that it rests on
        raise Refused(f"{times} steps are named '{plain(name)}': each needs a name of its own")
    return ScenarioRef(name=scenario.name, title=scenario.title, settings=values), tuple(steps)


def _places() -> tuple[Path, ...]:
    try:
        return (*_SHIPPED, paths.config_dir() / "scenarios")
    except Refused:  # no home directory: no scenarios of one's own
        return _SHIPPED


def _path_of(name: str) -> Path:
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    for place in _places():
        path = place / f"{name}.toml"
        if path.is_file():
            return path
    raise Refused(f"no scenario '{plain(name)}'. There are: {', '.join(names())}.")


def _read(path: Path) -> Scenario:
    document = msgspec.toml.decode(path.read_bytes())
    settings = document.get("settings")
    for key, table in settings.items() if isinstance(settings, dict) else ():
        try:
            msgspec.convert(table, Setting)  # by itself: the whole one's message does not name the key
        except msgspec.ValidationError as error:
            raise Refused(f"settings.{plain(key)}: {where_in(error)}") from None
    return msgspec.convert(document, Scenario)


def _check(scenario: Scenario, file: str) -> None:
    for key, setting in scenario.settings.items():
        for value in _as_list(setting.value):
            try:
                _check_value(key, setting, value)
            except Refused as mistake:
                raise Refused(f"{file}: settings.{mistake}") from None
    for number, table in enumerate(scenario.steps, 1):
        try:
            head = msgspec.convert(table, StepHead)
        except msgspec.ValidationError as error:
            raise Refused(f"{file}: steps[{number}]: {where_in(error)}") from None
        for key in head.for_each:
            if key not in scenario.settings:
                raise Refused(f"{file}: steps[{number}].for_each: there is no setting {key!r}")
    if not scenario.steps:
        raise Refused(f"{file}: steps: it has no step")
    try:
        expand(scenario, {})
    except Refused as mistake:
        raise Refused(f"{file}: {mistake}") from None


def _parse(key: str, setting: Setting, text: str) -> Scalar | list[Scalar]:
    listed = isinstance(setting.value, list)
    example = _as_list(setting.value)[0]
    values = [_scalar(key, example, item.strip(), setting.unit) for item in text.split(",")]
    if len(values) > 1 and not listed and not setting.choices:
        raise Refused(f"{plain(key)} takes one value, not '{plain(text)}'")
    for value in values:
        _check_value(key, setting, value)
    return values if listed or len(values) > 1 else values[0]


def _scalar(key: str, example: Scalar, text: str, unit: str) -> Scalar:
    size = _SIZE.fullmatch(text) if unit == "bytes" else None
    try:
        if size:
            return int(float(size[1]) * _UNITS[size[2].upper()])
        if isinstance(example, bool):
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if unit == "s" and not isinstance(example, str):
            return int(text) if text.isdecimal() else float(text)
        return type(example)(text)
    except (ValueError, KeyError, OverflowError):
        kind = "float" if unit == "s" and isinstance(example, int) else type(example).__name__
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}[kind]
        of_unit = f" of {plain(unit)}" if unit else ""
        raise Refused(f"{plain(key)} takes {wanted}{of_unit}, not '{plain(text)}'") from None


def _check_value(key: str, setting: Setting, value: Scalar) -> None:
    if setting.choices is not None and value not in setting.choices:
        allowed = ", ".join(map(str, setting.choices))
        raise Refused(f"{plain(key)} takes {plain(allowed)}; not '{plain(str(value))}'")
    if isinstance(value, str):
        return
    if isinstance(value, float) and not isfinite(value):
        raise Refused(f"{plain(key)} must be a finite number, not {value}")
    if setting.min is not None and value < setting.min:
        raise Refused(f"{plain(key)} must be at least {setting.min:.12g}, not {value}")
    if setting.max is not None and value > setting.max:
        raise Refused(f"{plain(key)} must be at most {setting.max:.12g}, not {value}")


def _steps_of(scenario: Scenario, table: dict[str, Any], values: dict[str, Any]) -> list[PlannedStep]:
    head = msgspec.convert(table, StepHead)
    lists = [_as_list(values[key]) for key in head.for_each]
    named = set(_FIELD.findall(head.name))
    varied = [key for key, values_ in zip(head.for_each, lists, strict=True) if len(values_) > 1 and key not in named]
    own = {key: value for key, value in table.items() if key not in StepHead.__struct_fields__}
    steps = []
    for combination in product(*lists):
        chosen = {**values, **dict(zip(head.for_each, combination, strict=True))}
        if any(chosen[key] not in meant for key, meant in head.only.items()):
            continue
        every = " ".join(_told(key, chosen[key]) for key in varied)
        name = str(_fill(head.name.replace("{*}", every).strip(), chosen))
        filled = {"seconds": chosen["seconds"], **_filled(scenario, own, chosen)}
        if head.probe not in PROBES:
            raise Refused(f"step {name!r}: no probe {head.probe!r}. There are: {', '.join(PROBES)}.")
        if scenario.server and head.probe in WITH_SERVER:
            options = _filled(scenario, scenario.server.options, chosen)
            filled = {
                "server": _fill(scenario.server.kind, chosen),
                **filled,
                "options": {**options, **filled.get("options", {})},
            }
        steps.append(PlannedStep(name=name, probe=head.probe, settings=PROBES[head.probe](name, filled)))
    return steps


def _told(key: str, value: Scalar) -> str:
    """A value in a step's name: a word by itself, a number or a switch after what it is of."""
    return str(value) if isinstance(value, str) and value not in {"on", "off"} else f"{key} {value}".lower()


def _filled(scenario: Scenario, table: Mapping[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """A table with its values filled in. ``"*" = "{x}"`` adds what the word chosen for x stands for; a key of the
    table's own wins, unless it is 0."""
    filled = {
        key: _filled(scenario, value, chosen) if isinstance(value, dict) else _fill(value, chosen)
        for key, value in table.items()
        if key != "*"
    }
    if "*" not in table:
        return filled
    field = _FIELD.fullmatch(str(table["*"]))
    setting = scenario.settings.get(field[1]) if field else None
    if setting is None or not isinstance(setting.choices, dict):
        raise Refused(f'"*" = {table["*"]!r}: it takes a setting whose choices are words that stand for options')
    return {**setting.choices[str(_fill(table["*"], chosen))], **{key: value for key, value in filled.items() if value}}


def _fill(value: Any, chosen: dict[str, Any]) -> Any:
    """``"{x}"`` keeps x's type; a longer text gets it as text."""
    if isinstance(value, list):
        return [_fill(item, chosen) for item in value]
    if not isinstance(value, str):
        return value
    missing = [key for key in _FIELD.findall(value) if key not in chosen]
    if missing:
        raise Refused(f"{value!r}: there is no setting {missing[0]!r}")
    whole = _FIELD.fullmatch(value)
    if whole:
        found = chosen[whole[1]]
        if isinstance(found, list):
            raise Refused(f"{value!r} is a list of values: name it in the step's for_each")
        return found
    return _FIELD.sub(lambda match: str(chosen[match[1]]), value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
