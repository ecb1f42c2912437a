"""Small files of the user: declarations, notes, lessons, own references, and the app's keys and theme.

An invalid file is never replaced, because the user's work would be lost. Writing raises OSError, and Refused if the
file is invalid or if there is no home directory.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from fstui.model.base import Base
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused, hint_for
from fstui.model.run import OwnReference
from fstui.state import files, paths

T = TypeVar("T")
Saved = TypeVar("Saved")


class _File(Generic[T]):
    """A JSON file. A save keeps all fields of the other entries, also those of a later version of fstui."""

    def __init__(self, name: str, kind: type[T], default: T) -> None:
        self._name, self._kind, self._default = name, kind, default

    def load(self) -> T:
        """Return the content; if there is no file, the default. Raises OSError, and Refused if the file is invalid."""
        return self._decode(self._kind, self._default)

    def read(self) -> T:
        """Return the content; if the file is missing, invalid or unreadable, the default."""
        try:
            return self.load()
        except (OSError, Refused):
            return self._default

    def set_entry(self, key: str, value: object) -> None:
        """Save an entry, replacing the previous one. An empty value only removes the previous one."""
        if value:
            self._write({**self._decode(dict[str, msgspec.Raw], {}), key: value})
        else:
            self.remove_entries({key})

    def remove_entries(self, keys: Collection[str]) -> None:
        entries = self._decode(dict[str, msgspec.Raw], {})
        if not entries.keys().isdisjoint(keys):
            self._write({key: entry for key, entry in entries.items() if key not in keys})

    def replace_named(self, names: Collection[str], new_entries: Sequence[object] = ()) -> None:
        """Remove the entries with these names from a list, and add the new ones at its end."""
        entries = zip(self._decode(list[_Named], []), self._decode(list[msgspec.Raw], []), strict=True)
        self._write([*(entry for named, entry in entries if named.name not in names), *new_entries])

    def _decode(self, kind: type[Saved], default: Saved) -> Saved:
        file = paths.state_dir() / self._name
        try:
            data, _ = files.read_regular(file)
            return msgspec.json.decode(data, type=kind)
        except FileNotFoundError:
            return default
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _invalid(file, error) from None

    def _write(self, value: object) -> None:
        """Write the value with one line per field, for people who read the file."""
        data = msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
        files.write_private(paths.state_dir() / self._name, data)


def _invalid(file: Path, error: Exception) -> Refused:
    return Refused(f"{file}: {error}. Correct this file, or move it away. A later version of fstui may have written it")


class _Named(msgspec.Struct, frozen=True):
    name: str


class TakenLesson(Base, frozen=True, kw_only=True):
    day: str
    right: int
    """How many of the two answers were right."""
    rates_per_s: dict[str, float] = msgspec.field(default_factory=dict)
    """The rate of each step on the simulated disk, by ``run/step``."""


_DECLARATIONS = _File("declarations.json", dict[str, Declaration], {})
_NOTES = _File("notes.json", dict[str, str], {})
_LESSONS = _File("lessons.json", dict[str, TakenLesson], {})
_REFERENCES = _File("references.json", tuple[OwnReference, ...], ())


def declarations() -> dict[str, Declaration]:
    """Return what the user declared about each target, by the target's identity. Raises OSError, Refused."""
    return {identity: replace(declaration, remembered=True) for identity, declaration in _DECLARATIONS.load().items()}


def declare(identity: str, declaration: Declaration) -> None:
    _DECLARATIONS.set_entry(identity, replace(declaration, remembered=False))


def notes() -> dict[str, str]:
    """Return the user's notes on saved runs, by run id. They are not in the runs' documents, because a document that is
    altered no longer matches its digest."""
    return _NOTES.read()


def save_note(run: str, text: str) -> None:
    _NOTES.set_entry(run, text)


def forget_notes(run_ids: Iterable[str]) -> None:
    """Remove the notes of deleted runs. An invalid file is left alone."""
    with suppress(Refused):
        _NOTES.remove_entries(set(run_ids))


def taken_lessons() -> dict[str, TakenLesson]:
    return _LESSONS.read()


def save_lesson(name: str, lesson: TakenLesson) -> None:
    _LESSONS.set_entry(name, lesson)


def own_references() -> tuple[OwnReference, ...]:
    """Return the user's references. Raises OSError, Refused."""
    return _REFERENCES.load()


def readable_references() -> tuple[OwnReference, ...]:
    """Return the user's references; none if they cannot be read."""
    return _REFERENCES.read()


def add_references(references: Sequence[OwnReference]) -> None:
    """Add references. They replace older references with the same names."""
    _REFERENCES.replace_named({reference.name for reference in references}, references)


def remove_references(name: str) -> None:
    """Remove the references of that name. Raises Refused if there are none."""
    names = sorted({reference.name for reference in own_references()})
    if name not in names:
        raise Refused(
            f"no reference of your own is called '{name}'.{hint_for(name, names)} 'fstui references' shows them"
        )
    _REFERENCES.replace_named({name})


def keys() -> dict[str, str]:
    """Return the keys that the user changed, command → key. Raises Refused if ``keys.toml`` is not valid."""
    try:
        file = paths.config_dir() / "keys.toml"
        text, _ = files.read_regular(file)
    except (OSError, Refused):
        return {}
    try:
        return msgspec.toml.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # ValueError: a very long integer
        raise Refused(f'{file}: {error}. Write lines like "storage.filter" = "f"') from None


def theme() -> str:
    """Return the name of the chosen theme; empty if none was chosen or ``theme.toml`` is not valid."""
    try:
        theme = _read_theme_file().get("theme")
    except (OSError, Refused):
        return ""
    return theme if isinstance(theme, str) else ""


def save_theme(name: str) -> None:
    line = f'theme = "{name}"'
    if _read_theme_file().keys() - {"theme"}:
        raise Refused(f"{_theme_file()} has lines that fstui does not know. Change the theme there: {line}")
    files.sweep(paths.config_dir())
    files.write_private(_theme_file(), f"{line}\n".encode())


def _theme_file() -> Path:
    return paths.config_dir() / "theme.toml"


def _read_theme_file() -> dict[str, Any]:
    try:
        data, _ = files.read_regular(_theme_file())
        return msgspec.toml.decode(data, type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # ValueError: a very long integer
        raise _invalid(_theme_file(), error) from None
