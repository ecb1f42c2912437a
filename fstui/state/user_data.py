"""Small files of the user: declarations, notes, lessons, own references, and the app's keys and theme.

A missing or broken file is read as empty; a broken ``keys.toml`` raises Refused. Writing raises OSError, and Refused if
there is no home directory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec.structs import replace

from fstui.model.base import Base
from fstui.model.declaration import Declaration
from fstui.model.errors import Refused, hint_for
from fstui.model.run import OwnReference
from fstui.state import files, paths

T = TypeVar("T")


class _File(Generic[T]):
    def __init__(self, name: str, kind: type[T], nothing: T) -> None:
        self._name, self._kind, self._nothing = name, kind, nothing

    def read(self) -> T:
        try:
            data, _ = files.read_regular(paths.state_dir() / self._name)
            return msgspec.json.decode(data, type=self._kind)
        except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
            return self._nothing

    def write(self, value: T) -> None:
        """Write the value with one line per field, for people who read the file."""
        data = msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
        files.write_private(paths.state_dir() / self._name, data)


class Taken(Base, frozen=True, kw_only=True):
    """A lesson that was taken to its end."""

    day: str
    right: int
    """How many of the two answers were right."""
    rates_per_s: dict[str, float] = msgspec.field(default_factory=dict)
    """The simulated rate of each step, by ``run/step``."""


class _Theme(msgspec.Struct, frozen=True):
    theme: str = ""


_NO_REFERENCES: tuple[OwnReference, ...] = ()
_DECLARATIONS = _File("declarations.json", dict[str, Declaration], {})
_NOTES = _File("notes.json", dict[str, str], {})
_LESSONS = _File("lessons.json", dict[str, Taken], {})
_REFERENCES = _File("references.json", tuple[OwnReference, ...], _NO_REFERENCES)


def declarations() -> dict[str, Declaration]:
    """Return what the user declared about each storage, by the target's identity."""
    return {identity: replace(declaration, remembered=True) for identity, declaration in _DECLARATIONS.read().items()}


def declare(identity: str, declaration: Declaration) -> None:
    """Save the declaration, replacing the previous one. An empty one only removes it."""
    before = _DECLARATIONS.read()
    kept = {key: declared for key, declared in before.items() if key != identity}
    if declaration:
        kept[identity] = replace(declaration, remembered=False)
    if kept != before:
        _DECLARATIONS.write(kept)


def notes() -> dict[str, str]:
    """Return the user's notes on saved runs, by run id. They are not in the documents, because a document that is
    changed no longer matches its digest."""
    return _NOTES.read()


def note(run: str, words: str) -> None:
    """Save the note, replacing the previous one. An empty one only removes it."""
    others = {other: noted for other, noted in notes().items() if other != run}
    _NOTES.write({**others, run: words} if words else others)


def forget_notes(gone: Iterable[str]) -> None:
    before, ids = notes(), set(gone)
    if ids & before.keys():
        _NOTES.write({run: words for run, words in before.items() if run not in ids})


def lessons() -> dict[str, Taken]:
    return _LESSONS.read()


def take_lesson(name: str, taken: Taken) -> None:
    _LESSONS.write({**lessons(), name: taken})


def own_references() -> tuple[OwnReference, ...]:
    return _REFERENCES.read()


def add_references(new: Sequence[OwnReference]) -> None:
    """Add references; they replace older ones with the same names."""
    names = {one.name for one in new}
    _REFERENCES.write((*(one for one in own_references() if one.name not in names), *new))


def remove_references(name: str) -> None:
    """Remove the references of that name. Raises Refused if there are none."""
    before = own_references()
    kept = tuple(one for one in before if one.name != name)
    if len(kept) == len(before):
        known = sorted({one.name for one in before})
        hint = hint_for(name, known)
        raise Refused(f"no reference of your own is called '{name}'.{hint} 'fstui references' shows them")
    _REFERENCES.write(kept)


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
        data, _ = files.read_regular(paths.config_dir() / "theme.toml")
        return msgspec.toml.decode(data, type=_Theme).theme
    except (OSError, Refused, msgspec.DecodeError, ValueError, RecursionError):
        return ""


def keep_theme(name: str) -> None:
    files.write_private(paths.config_dir() / "theme.toml", f'theme = "{name}"\n'.encode())
