"""Where scenario files are, and whether they can be used.

Those that come with fstui go before a user's own, in ``scenarios/`` of the XDG config directory; a name with a slash or
ending in ``.toml`` is a file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from fstui.measure.kinds.tables import where_in
from fstui.model.errors import Refused, meant
from fstui.model.forms import Setting, as_list, check_value
from fstui.model.quantities import size
from fstui.model.shipped import shipped as files_of
from fstui.model.shipped import toml_files
from fstui.runs.scenario.steps import Scenario, StepHead, expand
from fstui.state import paths
from fstui.state.files import read_regular

MOST_BYTES = 1 << 20
_ORDER = (
    "odirect-truth", "fsync-rate", "wal-etcd", "wal-postgres", "sqlite-commit", "sysbench-oltp", "replica-cut",
    "fileio-classic",
)  # fmt: skip


def names() -> list[str]:
    """All scenarios that can be run by name: the shipped ones in their order of use, then the user's own."""
    known = shipped()
    return known + sorted(_own().keys() - set(known))


def shipped() -> list[str]:
    """Those that came with the package: nothing of the user's is touched to find them, or to load them."""
    found = files_of().keys()
    return [name for name in _ORDER if name in found] + sorted(found - set(_ORDER))


def load(name: str) -> Scenario:
    """A scenario by its name or its file. Raises Refused with file, table and key of a mistake."""
    path = _path_of(name)
    try:
        scenario = _read(path)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {where_in(error)}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in brackets
        raise Refused(f"{path}: {error}") from None
    except Refused as mistake:
        raise Refused(f"{path}: {mistake}") from None
    if "seconds" not in scenario.settings:
        seconds = Setting(value=1, unit="s", min=0, max=86400, help="measured time per step")
        scenario = msgspec.structs.replace(scenario, settings={"seconds": seconds, **scenario.settings})
    _check(scenario, str(path))
    return scenario


def _own() -> dict[str, Path]:
    try:
        return toml_files(paths.config_dir() / "scenarios")
    except Refused:  # no home directory: no scenarios of one's own
        return {}


def _path_of(name: str) -> Path:
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    if path := files_of().get(name) or _own().get(name):
        return path
    raise Refused(f"no scenario '{name}'.{meant(name, names())} There are: {', '.join(names())}.")


def _read(path: Path) -> Scenario:
    data, _ = read_regular(path)
    if len(data) > MOST_BYTES:
        raise Refused(f"it is no scenario: it has {size(len(data))}, and {size(MOST_BYTES)} are more than enough")
    document = msgspec.toml.decode(data)
    settings = document.get("settings")
    for key, table in settings.items() if isinstance(settings, dict) else ():
        try:
            msgspec.convert(table, Setting)  # by itself: the whole one's message does not name the key
        except msgspec.ValidationError as error:
            raise Refused(f"settings.{key}: {where_in(error)}") from None
    return msgspec.convert(document, Scenario)


def _check(scenario: Scenario, file: str) -> None:
    for key, setting in scenario.settings.items():
        for value in as_list(setting.value):
            try:
                check_value(key, setting, value)
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
