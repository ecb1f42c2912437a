"""A scenario's tables, filled in with the values of its settings: the steps that will run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import msgspec

from fstui.measure.kinds.tables import checked, takes_server
from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.model.forms import Form, Scalar, Setting, as_list, chosen
from fstui.model.plan import PlannedStep
from fstui.model.run import ScenarioRef

_FIELD = re.compile(r"\{(\w+)\}")
MOST_STEPS = 1000
"""Of one table: a slip in a list of values is no plan of a year."""
_MEASURED_TIME = "{seconds}"
EVERY = "*"
"""The key for whatever a word stands for."""


class Server(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The database server that the steps want."""

    kind: str
    options: dict[str, Any] = msgspec.field(default_factory=dict)


class Scenario(Form, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan of steps, as its file says."""

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


def expand(scenario: Scenario, overrides: Mapping[str, str]) -> tuple[ScenarioRef, tuple[PlannedStep, ...]]:
    """The chosen settings, and every step with its values filled in. Raises Refused, for an impossible step too."""
    values = chosen(scenario, overrides)
    _check_several(scenario, {key: values[key] for key in overrides})
    made = [(table, list(_steps_of(scenario, table, values))) for table in scenario.steps]
    steps = [step for _, found in made for step in found]
    if not steps:
        raise Refused("no step is left with these settings")
    of_all = [_MEASURED_TIME, msgspec.to_builtins(scenario.server)]
    elsewhere = _named([table for table, found in made if not found]) - _named(
        [*of_all, *(table for table, found in made if found)]
    )
    if unheard := [key for key in overrides if key in elsewhere]:
        raise Refused(f"--set {unheard[0]}={overrides[unheard[0]]} changes nothing here: no step of these has it")
    name, times = Counter(step.name for step in steps).most_common(1)[0]
    if times > 1:  # a finding names the steps that it rests on
        raise Refused(f"{times} steps are named '{name}': each needs a name of its own")
    # what is left out: PostgreSQL has no flush_method
    said = {key: value for key, value in values.items() if key not in elsewhere}
    return ScenarioRef(name=scenario.name, title=scenario.title, settings=said), tuple(steps)


def _named(value: Any) -> set[str]:
    """The settings that a table refers to."""
    if isinstance(value, dict):
        return _named(list(value.values())) | set(value.get("for_each", ()))
    if isinstance(value, list | tuple):
        return {name for item in value for name in _named(item)}
    return set(_FIELD.findall(value)) if isinstance(value, str) else set()


def _check_several(scenario: Scenario, given: Mapping[str, Any]) -> None:
    """Raises Refused where the user names several values of what is measured with one."""
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
        every = " ".join(_told(key, one[key]) for key in varied)
        filling = Filling(scenario.settings, one)
        name = str(filling.value(head.name.replace("{*}", every).strip()))
        yield PlannedStep(name=name, settings=checked(head.probe, name, _own_keys(scenario, head, own, filling)))


def _combinations(head: StepHead, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One value for each setting, in every combination that the table is meant for."""
    if unknown := head.only.keys() - values.keys():
        raise Refused(f"only: there is no setting {min(unknown)!r}")
    if prod(len(as_list(values[key])) for key in head.for_each) > MOST_STEPS:
        raise Refused(f"its settings make more than {MOST_STEPS} steps of {head.name!r}: name fewer values")
    for combination in product(*(as_list(values[key]) for key in head.for_each)):
        one = {**values, **dict(zip(head.for_each, combination, strict=True))}
        if all(one[key] in meant for key, meant in head.only.items()):
            yield one


def _own_keys(scenario: Scenario, head: StepHead, table: dict[str, Any], filling: Filling) -> dict[str, Any]:
    """The step's own keys, with the measured time and the server that the scenario says once for all steps."""
    filled = {"seconds": filling.value(_MEASURED_TIME), **filling.table(table)}
    if scenario.server is None or not takes_server(head.probe):
        return filled
    options = {**filling.table(scenario.server.options), **filled.get("options", {})}
    return {"server": filling.value(scenario.server.kind), **filled, "options": options}


def _told(key: str, value: Scalar) -> str:
    """A value in a step's name: a word by itself, a number or a switch after what it is of."""
    return str(value) if isinstance(value, str) and value not in {"on", "off"} else f"{key} {value}".lower()


class Filling:
    """One value for each setting, and the tables that refer to them."""

    def __init__(self, settings: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
        self._settings = settings
        self._values = values

    def table(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Its values filled in, but for those that say nothing. ``"*" = "{x}"`` adds what the word chosen for x stands
        for; a key of the table's own wins."""
        filled = {key: self.value(value) for key, value in table.items() if key != EVERY and not self._is_absent(value)}
        return {**self._word(table[EVERY]), **filled} if EVERY in table else filled

    def value(self, value: Any) -> Any:
        """``"{x}"`` keeps x's type; a longer text gets it as text."""
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
            raise Refused(f'"*" = {reference!r}: it takes a setting whose choices are words that stand for options')
        return setting.choices[str(self.value(reference))]
