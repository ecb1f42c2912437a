"""Scenario files: TOML → Scenario → concrete steps. Every mistake is named by file, table and key.

Shipped scenarios stand in ``scenarios/`` (in the checkout beside the package, in a wheel inside it), a user's own in
``scenarios/`` of the XDG config directory; a name with a slash or ending in ``.toml`` is a file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fstui.model import Base, DirtyFlush, PlannedStep, Refused, ScenarioRef, SqliteCommits, SyncWrites
from fstui.quantities import plain
from fstui.state import paths

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = (_PACKAGE / "scenarios", _PACKAGE.parent / "scenarios")
_FIELD = re.compile(r"\{(\w+)\}")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B)?", re.IGNORECASE)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MOST_SECONDS = 31 * 86400
MOST_OPS_PER_S = 1_000_000
MOST_BYTES = 1 << 50

Scalar = bool | int | float | str
_Table = TypeVar("_Table", bound=Base)


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


def names() -> list[str]:
    """All scenarios that can be run by name: the shipped ones in their order of use, then the user's own."""
    found = {path.stem for place in _places() if place.is_dir() for path in place.glob("*.toml")}
    order = ["odirect-truth", "fsync-rate", "wal-etcd", "wal-postgres", "sqlite-commit", "sysbench-oltp"]
    return [name for name in order if name in found] + sorted(found - set(order))


def load(name: str) -> Scenario:
    """A scenario by its name or its file. Raises Refused with file, table and key of a mistake."""
    path = _path_of(name)
    try:
        scenario = _read(path)
    except OSError as error:
        raise Refused(f"{plain(str(path))}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{plain(str(path))}: {_where(error)}") from None
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
    steps = [step for table in scenario.steps for step in _steps_of(table, values)]
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
            raise Refused(f"settings.{plain(key)}: {_where(error)}") from None
    return msgspec.convert(document, Scenario)


def _where(error: Exception) -> str:
    """msgspec says ``… - at `$.server.kind```; people read ``server.kind: …``."""
    what, _, place = plain(str(error)).partition(" - at `$.")
    return f"{place.rstrip('`')}: {what}" if place else what


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
            raise Refused(f"{file}: steps[{number}]: {_where(error)}") from None
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
        wanted = {"bool": "true or false", "int": "a whole number", "float": "a number"}[type(example).__name__]
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


def _steps_of(table: dict[str, Any], values: dict[str, Any]) -> list[PlannedStep]:
    head = msgspec.convert(table, StepHead)
    lists = [_as_list(values[key]) for key in head.for_each]
    steps = []
    for combination in product(*lists):
        chosen = {**values, **dict(zip(head.for_each, combination, strict=True))}
        filled = {key: _fill(value, chosen) for key, value in table.items() if key != "for_each"}
        name, probe = str(filled.pop("name")), filled.pop("probe")
        filled.setdefault("seconds", chosen["seconds"])
        if probe not in PROBES:
            raise Refused(f"step {name!r}: no probe {probe!r}. There are: {', '.join(PROBES)}.")
        steps.append(PlannedStep(name=name, probe=probe, settings=PROBES[probe](name, filled)))
    return steps


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


def _checked(table: type[_Table], mistakes: Callable[[_Table], Iterator[str]]) -> Callable[[str, dict[str, Any]], Any]:
    """Check a step's own keys against what its probe takes: an unknown key, a wrong type, what cannot be run."""

    def check(name: str, filled: dict[str, Any]) -> dict[str, Any]:
        try:
            settings = msgspec.convert(filled, table)
        except msgspec.ValidationError as error:
            raise Refused(f"step {name!r}: {_where(error)}") from None
        for mistake in mistakes(settings):
            raise Refused(f"step {name!r}: {mistake}")
        return msgspec.structs.asdict(settings)

    return check


class SyncWritesTable(SyncWrites, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file: an unknown key is a mistake."""


class DirtyFlushTable(DirtyFlush, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


class SqliteCommitsTable(SqliteCommits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same settings, read from a file."""


def _mistakes_of_sync_writes(settings: SyncWrites) -> Iterator[str]:
    """What cannot be run like this, each in a sentence."""
    if settings.block_bytes < 1 or settings.writers < 1 or settings.sync_every < 1 or settings.max_bytes_per_s < 1:
        yield "block_bytes, writers, sync_every and max_bytes_per_s must be at least 1"
    if settings.writers > 64:
        yield f"writers must be at most 64, not {settings.writers}"
    if settings.file_bytes < settings.block_bytes:
        yield f"file_bytes ({settings.file_bytes}) is smaller than block_bytes ({settings.block_bytes})"
    if settings.block_bytes > 8 << 20:
        yield f"block_bytes must be at most 8 MiB, not {settings.block_bytes}"
    if "direct" in settings.open_flags and settings.block_bytes % 512:
        yield f"O_DIRECT wants blocks of a multiple of 512 bytes, not {settings.block_bytes}"
    if settings.offsets == "append" and settings.writers > 1:
        yield "an append takes one writer"
    if not 0 <= settings.seconds <= MOST_SECONDS:
        yield f"seconds must be between 0 and {MOST_SECONDS}, not {settings.seconds}"
    if not 0 <= settings.ops_per_s <= MOST_OPS_PER_S:
        yield f"ops_per_s must be between 0 and {MOST_OPS_PER_S}, not {settings.ops_per_s}"
    if max(settings.file_bytes, settings.max_bytes_per_s) > MOST_BYTES:
        yield f"file_bytes and max_bytes_per_s must be at most {MOST_BYTES}"
    if not settings.seconds and not settings.ops_per_s:
        yield "without an end (seconds = 0) it needs a pace (ops_per_s)"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _mistakes_of_dirty_flush(settings: DirtyFlush) -> Iterator[str]:
    if not 0 < settings.seconds <= MOST_SECONDS:
        yield f"seconds must be more than 0 and at most {MOST_SECONDS}, not {settings.seconds}"
    if not 1 << 20 <= settings.file_bytes <= 32 << 20:
        yield f"file_bytes must be between 1 MiB and 32 MiB, not {settings.file_bytes}"


def _mistakes_of_sqlite_commits(settings: SqliteCommits) -> Iterator[str]:
    if not 0 < settings.seconds <= MOST_SECONDS:
        yield f"seconds must be more than 0 and at most {MOST_SECONDS}, not {settings.seconds}"
    if settings.rows < 1 or settings.row_bytes < 1 or settings.rows * settings.row_bytes > MOST_BYTES:
        yield f"rows and row_bytes must be at least 1, together at most {MOST_BYTES} bytes"


PROBES = {
    "sync_writes": _checked(SyncWritesTable, _mistakes_of_sync_writes),
    "dirty_flush": _checked(DirtyFlushTable, _mistakes_of_dirty_flush),
    "sqlite_commits": _checked(SqliteCommitsTable, _mistakes_of_sqlite_commits),
}
"""What a step's own keys must be, probe by probe. A new probe adds its line here."""
