from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from fstui.databases.mysql import MySQL
from fstui.databases.postgresql import PostgreSQL
from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.model.forms import Scalar, Setting
from fstui.model.plan import PlannedStep
from fstui.runs import scenarios
from fstui.runs.scenarios import Scenario

Path = tuple[str, ...]


def values(setting: Setting) -> list[Scalar]:
    """Return all choices, or the bounds, a value between them, and the default."""
    usual = setting.value if isinstance(setting.value, list) else [setting.value]
    if setting.choices:
        return list(setting.choices)
    if isinstance(usual[0], str):
        return ["", "a word"]
    whole = isinstance(usual[0], int) and setting.unit != "s"
    bounds = [int(bound) if whole else bound for bound in (setting.min, setting.max) if bound is not None]
    between = [sum(bounds) // 2] if bounds else []
    return list(dict.fromkeys([*bounds, *between, *usual]))


SETTINGS = [(name, key) for name in scenarios.names() for key in scenarios.load(name).settings]


def text_of(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def references(table: dict[str, Any], key: str, path: Path = ()) -> Iterator[Path]:
    """Return the paths where a table refers to that setting as a whole value; ``*`` at the end means several keys."""
    for name, value in table.items():
        if value == f"{{{key}}}" and name != "name":
            yield (*path, name)
        elif isinstance(value, dict):
            yield from references(value, key, (*path, name))


def at(settings: dict[str, Any], path: Path) -> Any:
    for name in path:
        settings = settings[name]
    return settings


def steps_of(whole: Scenario, table: dict[str, Any], key: str, value: Scalar) -> tuple[PlannedStep, ...]:
    """Return the steps of one table with that setting; none if it is not meant for it."""
    alone = replace(whole, steps=[table])
    own = {name: str(allowed[0]) for name, allowed in table.get("only", {}).items() if name != key}
    try:
        return scenarios.expand(alone, {**own, key: text_of(value)})[1]
    except Refused as refusal:
        if "no step is left" in str(refusal):
            return ()
        raise


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [(name, key, value) for name, key in SETTINGS for value in values(scenarios.load(name).settings[key])],
)
def test_every_value_reaches_a_step(name: str, key: str, value: Scalar) -> None:
    whole = scenarios.load(name)
    setting = whole.settings[key]
    found = 0
    for table in whole.steps:
        own = {"seconds": "{seconds}", "server": whole.server.kind if whole.server else ""} | table
        for step in steps_of(whole, table, key, value):
            found += value in table.get("only", {}).get(key, ())  # this value selects the table
            for path in references(own, key):
                found += 1
                if path[-1] == "*":
                    assert isinstance(setting.choices, dict)
                    in_step = at(step.settings.as_dict(), path[:-1])
                    for option, meant in setting.choices[str(value)].items():
                        assert in_step[option] == (tuple(meant) if isinstance(meant, list) else meant)
                elif setting.is_set_by(value) and path[0] in step.settings.as_dict():
                    in_step = at(step.settings.as_dict(), path)
                    assert (in_step, isinstance(in_step, bool)) == (value, isinstance(value, bool))
            check_server_options(step)
    assert found, value


def check_server_options(step: PlannedStep) -> None:
    settings = step.settings
    if not isinstance(settings, Sysbench):
        return
    family, form, switch = (
        (PostgreSQL(), "{name}={value}", ("off", "on"))
        if settings.server == "postgresql"
        else (MySQL(), "--{dashed}={value}", ("OFF", "ON"))
    )
    words = family.command_line(ServerProgram(settings.server, "/x", "", ()), "/data", "/socket", settings)
    for name, value in settings.options.items():
        found = switch[value] if isinstance(value, bool) else value
        assert form.format(name=name, dashed=name.replace("_", "-"), value=found) in words


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name, key in SETTINGS if isinstance(scenarios.load(name).settings[key].value, list)],
)
def test_each_of_several_values_has_a_step(name: str, key: str) -> None:
    whole = scenarios.load(name)
    wanted = set(values(whole.settings[key]))
    _, steps = scenarios.expand(whole, {key: ",".join(map(text_of, wanted))})
    found = [step.settings.as_dict() for step in steps]
    everywhere = {value for settings in found for value in flat(settings)}
    selected = {value for table in whole.steps for value in table.get("only", {}).get(key, ())}
    words = whole.settings[key].choices
    assert wanted <= everywhere | selected or isinstance(words, dict)
    assert len(steps) >= len(wanted)


def flat(settings: dict[str, Any]) -> Iterator[Scalar]:
    for value in settings.values():
        yield from flat(value) if isinstance(value, dict) else [value] if isinstance(value, Scalar) else []


def test_several_values_are_refused_if_a_setting_takes_one() -> None:
    with pytest.raises(Refused) as refused:
        scenarios.expand(scenarios.load("fsync-rate"), {"block": "4K,16K"})
    sentence = str(refused.value)
    assert "one block at a time" in sentence and "--set block=4096" in sentence and "--set block=16384" in sentence
    assert "for_each" not in sentence
