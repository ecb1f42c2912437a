"""A scenario and how it becomes steps. Every mistake is reported with file, table and key.

``[settings.x]`` is what a user may change with ``--set x=…``: ``value`` (whose type is the type of x; a list makes one
step per value), ``unit``, ``help``, and ``choices``, or ``min`` and ``max``. A choice may be a word for several keys:
``high = { sync_binlog = 1 }``. Every scenario has ``seconds``, the measured time per step.

``[[steps]]`` is a step: ``name``, ``probe``, and the keys of that kind of step (the settings struct in
``fstui.measure.kinds``). A value that is exactly ``"{x}"`` is replaced by the value of x with its type; within a longer
text it is replaced by its text. ``"*" = "{x}"`` means all keys of the word chosen for x; other keys of the table take
precedence. If x has ``absent = VALUE``, the key is left out for that value, so that a word or a default decides.

``for_each = ["x", "y"]`` makes a step for each combination, with x outermost; ``{*}`` in the name is what varies.
``only = { x = […] }`` lists the values for which the table is meant. ``[server]`` applies to all steps that measure a
database: the ``kind`` of server, and its ``options``.
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
"""Maximum number of steps of one table, so that a mistake in a list of values does not make a plan for a year."""
_MEASURED_TIME = "{seconds}"
WORD_KEY = "*"


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
    """The values of settings for which this table is meant."""


def expand(scenario: Scenario, overrides: Mapping[str, str]) -> tuple[ScenarioRef, tuple[PlannedStep, ...]]:
    """Return the chosen settings, and every step with its values. Raises Refused."""
    values = chosen_values(scenario, overrides)
    _check_several(scenario, {key: values[key] for key in overrides})
    by_table = [(table, list(_steps_of(scenario, table, values))) for table in scenario.steps]
    steps = [step for _, found in by_table for step in found]
    if not steps:
        raise Refused("no step is left with these settings")
    for_all_steps = [_MEASURED_TIME, msgspec.to_builtins(scenario.server)]
    used = _named([*for_all_steps, *(table for table, found in by_table if found)])
    unused = _named([table for table, found in by_table if not found]) - used
    if without_effect := [key for key in overrides if key in unused]:
        raise Refused(f"--set {without_effect[0]}={overrides[without_effect[0]]} has no effect: no step uses it")
    name, times = Counter(step.name for step in steps).most_common(1)[0]
    if times > 1:  # findings refer to steps by name
        raise Refused(f"{times} steps are named '{name}': each needs a name of its own")
    # leave out settings without effect here, such as flush_method for PostgreSQL
    settings = {key: value for key, value in values.items() if key not in unused}
    return ScenarioRef(name=scenario.name, title=scenario.title, settings=settings), tuple(steps)


def _named(value: Any) -> set[str]:
    if isinstance(value, dict):
        return _named(list(value.values())) | set(value.get("for_each", ()))
    if isinstance(value, list | tuple):
        return {name for item in value for name in _named(item)}
    return set(_FIELD.findall(value)) if isinstance(value, str) else set()


def _check_several(scenario: Scenario, given: Mapping[str, Any]) -> None:
    """Raise Refused if the user gives several values for a setting that takes one."""
    varied = {key for table in scenario.steps for key in table.get("for_each", ())}
    for key, value in given.items():
        if isinstance(value, list) and len(value) > 1 and key not in varied:
            first, *others = (f"--set {key}={item}" for item in value)
            raise Refused(
                f"{scenario.name} measures one {key} at a time: run it with {first}, then again with "
                + ", then with ".join(others)
            )


def _steps_of(scenario: Scenario, table: dict[str, Any], values: dict[str, Any]) -> Iterator[PlannedStep]:
    head = msgspec.convert(table, StepHead)
    own = {key: value for key, value in table.items() if key not in StepHead.__struct_fields__}
    varied = [key for key in head.for_each if len(as_list(values[key])) > 1 and f"{{{key}}}" not in head.name]
    for one in _combinations(head, values):
        every = " ".join(_in_name(key, one[key]) for key in varied)
        filling = Filling(scenario.settings, one)
        name = str(filling.value(head.name.replace("{*}", every).strip()))
        yield PlannedStep(
            name=name, settings=settings_of_table(head.probe, name, _own_keys(scenario, head, own, filling))
        )


def _combinations(head: StepHead, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one value for each setting, in every combination for which the table is meant."""
    if unknown := head.only.keys() - values.keys():
        raise Refused(f"only: there is no setting {min(unknown)!r}")
    if prod(len(as_list(values[key])) for key in head.for_each) > MAX_STEPS:
        raise Refused(f"its settings make more than {MAX_STEPS} steps of {head.name!r}: name fewer values")
    for combination in product(*(as_list(values[key]) for key in head.for_each)):
        one = {**values, **dict(zip(head.for_each, combination, strict=True))}
        if all(one[key] in meant for key, meant in head.only.items()):
            yield one


def _own_keys(scenario: Scenario, head: StepHead, table: dict[str, Any], filling: Filling) -> dict[str, Any]:
    """Return the step's keys, with the measured time and the server, which the scenario defines for all steps."""
    filled = {"seconds": filling.value(_MEASURED_TIME), **filling.table(table)}
    if scenario.server is None or not takes_server(head.probe):
        return filled
    options = {**filling.table(scenario.server.options), **filled.get("options", {})}
    return {"server": filling.value(scenario.server.kind), **filled, "options": options}


def _in_name(key: str, value: Scalar) -> str:
    """Return a value as it appears in a step's name: a word alone, a number or a switch after its key."""
    return str(value) if isinstance(value, str) and value not in {"on", "off"} else f"{key} {value}".lower()


class Filling:
    """Replaces references to settings by their values. Each setting has one value."""

    def __init__(self, settings: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
        self._settings = settings
        self._values = values

    def table(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in a table, without the keys whose value is the absent one."""
        present = {key: value for key, value in table.items() if key != WORD_KEY and not self._is_absent(value)}
        filled = {key: self.value(value) for key, value in present.items()}
        return {**self._word(table[WORD_KEY]), **filled} if WORD_KEY in table else filled

    def value(self, value: Any) -> Any:
        """Fill in a value. ``"{x}"`` becomes the value of x; in a longer text it becomes its text."""
        if isinstance(value, dict):
            return self.table(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, str):
            return value
        whole = _FIELD.fullmatch(value)
        return self._of(whole[1], value) if whole else _FIELD.sub(lambda match: self._text(match[1], value), value)

    def _of(self, key: str, reference: str) -> Any:
        if key not in self._values:
            raise Refused(f"{reference!r}: there is no setting {key!r}")
        if isinstance(self._values[key], list):
            raise Refused(f"{reference!r} is a list of values: name it in the step's for_each")
        return self._values[key]

    def _text(self, key: str, reference: str) -> str:
        found = self._of(key, reference)
        return str(found).lower() if isinstance(found, bool) else str(found)

    def _is_absent(self, value: Any) -> bool:
        whole = _FIELD.fullmatch(value) if isinstance(value, str) else None
        return (
            whole is not None
            and whole[1] in self._settings
            and not self._settings[whole[1]].is_set_by(self.value(value))
        )

    def _word(self, reference: Any) -> dict[str, Any]:
        field = _FIELD.fullmatch(str(reference))
        setting = self._settings.get(field[1]) if field else None
        if setting is None or not isinstance(setting.choices, dict):
            raise Refused(f'"*" = {reference!r}: this needs a setting whose choices are words for several options')
        return setting.choices[str(self.value(reference))]
