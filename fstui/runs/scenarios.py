"""Find and load scenarios: those that come with fstui, and the user's own.

Shipped scenarios take precedence over the user's own, which are in ~/.config/fstui/scenarios. Reading that directory
may hang. A name that contains a slash or ends in ``.toml`` is the path of a file.
"""

from pathlib import Path
from typing import NamedTuple

import msgspec

from fstui.measure.children import call_in_child
from fstui.measure.kinds import message_with_key
from fstui.model.errors import Refused, hint_for, sentence_of
from fstui.model.forms import Setting, as_list, check_value
from fstui.model.quantities import size
from fstui.model.shipped import shipped_files, toml_files
from fstui.runs.scenario import Scenario, StepHead, expand
from fstui.state import paths
from fstui.state.files import read_regular

__all__ = ["Scenario", "expand"]  # re-exported for the interfaces

MAX_BYTES = 1 << 20
_ORDER = (
    "check", "latency-watch", "fsync-rate", "odirect-truth", "fit", "wal-postgres", "sqlite-commit",
    "sysbench-oltp", "replica-cut", "fileio-classic",
)  # fmt: skip
_OWN_DIRECTORY = "your scenarios directory"


class NamedScenario(NamedTuple):
    name: str
    scenario: Scenario


def names() -> list[str]:
    """Return the names of all scenarios: shipped scenarios in their order of use, then the user's own."""
    shipped = shipped_names()
    return shipped + sorted(_own_files().keys() - set(shipped))


def shipped_names() -> list[str]:
    file_names = shipped_files().keys()
    return [name for name in _ORDER if name in file_names] + sorted(file_names - set(_ORDER))


def load_shipped() -> list[NamedScenario]:
    return [NamedScenario(name, load(name)) for name in shipped_names()]


async def load_own() -> tuple[list[NamedScenario], list[str]]:
    """Return the user's own scenarios, and a sentence for each file that cannot be used."""
    try:
        return await call_in_child(_load_own_files, where=_OWN_DIRECTORY)
    except (Refused, OSError) as error:
        return [], [sentence_of(error)]


async def find(name: str) -> Scenario:
    """Load a scenario by name or file, in a child process if reading may hang. Raises Refused."""
    if name in shipped_names():
        return load(name)
    return await call_in_child(load, name, where=_place_of(name))


async def own_text(name: str) -> str:
    """Return the text of a user's scenario file; empty for a shipped scenario or an unknown name. Raises Refused."""
    return "" if name in shipped_names() else await call_in_child(_own_text, name, where=_place_of(name))


def load(name: str) -> Scenario:
    """Load a scenario by name or file. Raises Refused with the file, table and key of the mistake."""
    path = _path_of(name)
    try:
        scenario = _read_file(path)
    except OSError as error:
        advice = ". 'fstui scenarios' lists the scenarios." if isinstance(error, FileNotFoundError) else ""
        raise Refused(f"{path}: {error.strerror}{advice}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {message_with_key(error)}. 'fstui explain scenarios' shows an example.") from None
    except (ValueError, RecursionError, Refused) as error:  # ValueError: a very long integer
        raise Refused(f"{path}: {error}") from None
    if "seconds" not in scenario.settings:
        seconds = Setting(value=1, unit="s", min=0, max=86400, help="measured time per step")
        scenario = msgspec.structs.replace(scenario, settings={"seconds": seconds, **scenario.settings})
    _check_file(scenario, str(path))
    return scenario


def _load_own_files() -> tuple[list[NamedScenario], list[str]]:
    scenarios: list[NamedScenario] = []
    problems: list[str] = []
    for name in names():
        if name not in shipped_names():
            try:
                scenarios.append(NamedScenario(name, load(name)))
            except Refused as refusal:
                problems.append(str(refusal))
    return scenarios, problems


def _own_files() -> dict[str, Path]:
    try:
        return toml_files(paths.config_dir() / "scenarios")
    except Refused:  # there is no home directory
        return {}


def _own_text(name: str) -> str:
    if not _is_file(name) and name not in _own_files():
        return ""
    load(name)
    return read_regular(_path_of(name))[0].decode()


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith(".toml")


def _place_of(name: str) -> str:
    return name if _is_file(name) else _OWN_DIRECTORY


def _path_of(name: str) -> Path:
    if _is_file(name):
        return Path(name)
    if path := shipped_files().get(name) or _own_files().get(name):
        return path
    if name == "wal-etcd":  # a scenario of earlier versions
        raise Refused("'wal-etcd' is part of 'fit' now: fstui fit DIR --for etcd")
    raise Refused(f"no scenario '{name}'.{hint_for(name, names())} Choose one of: {', '.join(names())}.")


def _read_file(path: Path) -> Scenario:
    data, _ = read_regular(path)
    if len(data) > MAX_BYTES:
        raise Refused(f"it is not a scenario: it is {size(len(data))} long; the limit is {size(MAX_BYTES)}")
    document = msgspec.toml.decode(data)
    settings = document.get("settings")
    for key, table in settings.items() if isinstance(settings, dict) else ():
        try:
            # one at a time, because the error of the whole document does not name the key
            msgspec.convert(table, Setting)
        except msgspec.ValidationError as error:
            raise Refused(f"settings.{key}: {message_with_key(error)}") from None
    return msgspec.convert(document, Scenario)


def _check_file(scenario: Scenario, file: str) -> None:
    """Raise Refused if a setting or a step of the file is not valid."""
    for key, setting in scenario.settings.items():
        for value in as_list(setting.value):
            try:
                check_value(key, setting, value)
            except Refused as refusal:
                raise Refused(f"{file}: settings.{refusal}") from None
    for number, table in enumerate(scenario.steps, 1):
        try:
            head = msgspec.convert(table, StepHead)
        except msgspec.ValidationError as error:
            raise Refused(f"{file}: steps[{number}]: {message_with_key(error)}") from None
        for key in head.for_each:
            if key not in scenario.settings:
                raise Refused(f"{file}: steps[{number}].for_each: there is no setting {key!r}")
    if not scenario.steps:
        raise Refused(f"{file}: steps: there are none")
    try:
        expand(scenario, {})
    except Refused as refusal:
        raise Refused(f"{file}: {refusal}") from None
