"""A scenario, and how it becomes steps. Every mistake is reported with file, table and key.

``[settings.x]`` is a setting that a user may change with ``--set x=…``. It has ``value`` (whose type is the type of x;
a list makes one step per value), ``unit``, ``help``, and ``choices``, or ``min`` and ``max``. A choice may stand for
several keys: ``high = { sync_binlog = 1 }``. Every scenario has the setting ``seconds``, the measured time per step.

``[[steps]]`` is a step: ``name``, ``probe``, and the keys of that kind of step (the settings struct in
``fstui.measure.kinds``). A value that is exactly ``"{x}"`` is replaced by the value of x with its type; within a
longer text, ``{x}`` is replaced by the text of the value. ``"*" = "{x}"`` inserts all keys that the choice of x
defines. Other keys of the table take precedence. If x has ``absent = VALUE``, the key is omitted for that value: the
inserted key applies instead, or else the default.

``for_each = ["x", "y"]`` makes a step for each combination, with x outermost. ``{*}`` in the name means the values that
vary. ``only = { x = […] }`` lists the values to which the table applies. ``[server]`` applies to all steps that
measure a database: the ``kind`` of server, and its ``options``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import msgspec

from fstui.measure.kinds import settings_of_table, takes_server
from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.model.forms import Form, Scalar, Setting, as_list, chosen_values
from fstui.model.plan import PlannedStep
from fstui.model.run import ScenarioRef

_FIELD = re.compile(r"\{(\w+)\}")
MAX_STEPS = 1000
"""Maximum number of steps of one table, so that a mistake in a list of values does not make an endless plan."""
_MEASURED_TIME = "{seconds}"
CHOICE_KEY = "*"


class ScenarioServer(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: str
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class Scenario(Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    server: ScenarioServer | None = None
    steps: list[dict[str, Any]]


class StepHead(Base, frozen=True, kw_only=True):
    name: str
    probe: str
    for_each: list[str] = msgspec.field(default_factory=list)
    """Settings that may be lists: there is a step for each combination, with the first setting outermost."""
    only: dict[str, list[Scalar]] = msgspec.field(default_factory=dict)
    """The values of settings to which this table applies."""


def expand(scenario: Scenario, overrides: Mapping[str, str]) -> tuple[ScenarioRef, tuple[PlannedStep, ...]]:
    """Return the scenario with the chosen settings, and every step. Raises Refused."""
    values = chosen_values(scenario, overrides)
    _check_value_count(scenario, {key: values[key] for key in overrides})
    steps_by_table = [(table, list(_steps_of(scenario, table, values))) for table in scenario.steps]
    steps = [step for _, table_steps in steps_by_table for step in table_steps]
    if not steps:
        raise Refused("no step is left with these settings")
    for_all_steps = [_MEASURED_TIME, msgspec.to_builtins(scenario.server)]
    used_settings = _setting_names([*for_all_steps, *(table for table, table_steps in steps_by_table if table_steps)])
    unused_tables = [table for table, table_steps in steps_by_table if not table_steps]
    unused_settings = _setting_names(unused_tables) - used_settings
    if unused_overrides := [key for key in overrides if key in unused_settings]:
        raise Refused(f"--set {unused_overrides[0]}={overrides[unused_overrides[0]]} has no effect: no step uses it")
    name, times = Counter(step.name for step in steps).most_common(1)[0]
    if times > 1:  # findings refer to steps by name
        raise Refused(f"{times} steps are named '{name}': each needs a name of its own")
    # leave out settings without effect here, such as flush_method for PostgreSQL
    settings = {key: value for key, value in values.items() if key not in unused_settings}
    return ScenarioRef(name=scenario.name, title=scenario.title, settings=settings), tuple(steps)


def _setting_names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return _setting_names(list(value.values())) | set(value.get("for_each", ()))
    if isinstance(value, list | tuple):
        return {name for part in value for name in _setting_names(part)}
    return set(_FIELD.findall(value)) if isinstance(value, str) else set()


def _check_value_count(scenario: Scenario, overrides: Mapping[str, Any]) -> None:
    """Raise Refused if the user gives several values for a setting that takes one."""
    variable_keys = {key for table in scenario.steps for key in table.get("for_each", ())}
    for key, value in overrides.items():
        if isinstance(value, list) and len(value) > 1 and key not in variable_keys:
            first, *others = (f"--set {key}={choice}" for choice in value)
            raise Refused(
                f"{scenario.name} measures one {key} at a time: run it with {first}, then again with "
                + ", then with ".join(others)
            )


def _steps_of(scenario: Scenario, table: dict[str, Any], values: dict[str, Any]) -> Iterator[PlannedStep]:
    head = msgspec.convert(table, StepHead)
    step_table = {key: value for key, value in table.items() if key not in StepHead.__struct_fields__}
    varied_keys = [key for key in head.for_each if len(as_list(values[key])) > 1 and f"{{{key}}}" not in head.name]
    for combination in _combinations(head, values):
        variation = " ".join(_name_part(key, combination[key]) for key in varied_keys)
        filler = SettingFiller(scenario.settings, combination)
        name = str(filler.fill_value(head.name.replace("{*}", variation).strip()))
        yield PlannedStep(
            name=name, settings=settings_of_table(head.probe, name, _step_keys(scenario, head, step_table, filler))
        )


def _combinations(head: StepHead, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one value for each setting, in every combination to which the table applies."""
    if unknown := head.only.keys() - values.keys():
        raise Refused(f"only: there is no setting {min(unknown)!r}")
    if prod(len(as_list(values[key])) for key in head.for_each) > MAX_STEPS:
        raise Refused(f"its settings make more than {MAX_STEPS} steps of {head.name!r}: name fewer values")
    for value_tuple in product(*(as_list(values[key]) for key in head.for_each)):
        combination = {**values, **dict(zip(head.for_each, value_tuple, strict=True))}
        if all(combination[key] in allowed_values for key, allowed_values in head.only.items()):
            yield combination


def _step_keys(scenario: Scenario, head: StepHead, table: dict[str, Any], filler: SettingFiller) -> dict[str, Any]:
    """Return the step's keys, with the measured time and the server, which the scenario defines for all steps."""
    filled_table = {"seconds": filler.fill_value(_MEASURED_TIME), **filler.fill_table(table)}
    if scenario.server is None or not takes_server(head.probe):
        return filled_table
    options = {**filler.fill_table(scenario.server.options), **filled_table.get("options", {})}
    return {"server": filler.fill_value(scenario.server.kind), **filled_table, "options": options}


def _name_part(key: str, value: Scalar) -> str:
    """Return the part of a step's name for a value. Only a number or a switch has its key in front: ``writers 4``."""
    return str(value) if isinstance(value, str) and value not in {"on", "off"} else f"{key} {value}".lower()


class SettingFiller:
    """Replaces references to settings by the values of one combination."""

    def __init__(self, settings: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
        self._settings = settings
        self._values = values

    def fill_table(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in a table. A key is left out if its setting has the value ``absent``."""
        present_keys = {key: value for key, value in table.items() if key != CHOICE_KEY and not self._is_absent(value)}
        filled_table = {key: self.fill_value(value) for key, value in present_keys.items()}
        return {**self._choice_keys(table[CHOICE_KEY]), **filled_table} if CHOICE_KEY in table else filled_table

    def fill_value(self, value: Any) -> Any:
        """Fill in a value. ``"{x}"`` becomes the value of x; within a longer text, the text of the value."""
        if isinstance(value, dict):
            return self.fill_table(value)
        if isinstance(value, list):
            return [self.fill_value(element) for element in value]
        if not isinstance(value, str):
            return value
        field = _FIELD.fullmatch(value)
        if field:
            return self._value_of(field[1], value)
        return _FIELD.sub(lambda match: self._text(match[1], value), value)

    def _value_of(self, key: str, reference: str) -> Any:
        if key not in self._values:
            raise Refused(f"{reference!r}: there is no setting {key!r}")
        if isinstance(self._values[key], list):
            raise Refused(f"{reference!r} is a list of values: name it in the step's for_each")
        return self._values[key]

    def _text(self, key: str, reference: str) -> str:
        value = self._value_of(key, reference)
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _is_absent(self, value: Any) -> bool:
        field = _FIELD.fullmatch(value) if isinstance(value, str) else None
        return (
            field is not None
            and field[1] in self._settings
            and not self._settings[field[1]].is_set_by(self.fill_value(value))
        )

    def _choice_keys(self, reference: Any) -> dict[str, Any]:
        field = _FIELD.fullmatch(str(reference))
        setting = self._settings.get(field[1]) if field else None
        if setting is None or not isinstance(setting.choices, dict):
            raise Refused(f'"*" = {reference!r}: this needs a setting whose choices each select several options')
        return setting.choices[str(self.fill_value(reference))]
