"""Small files of the user: declarations, notes, lessons, own references, and the app's keys and theme.

A missing or invalid file is read as empty, but an invalid ``keys.toml`` raises Refused. Writing raises OSError, and
Refused if there is no home directory.
"""

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
    def __init__(self, name: str, kind: type[T], default: T) -> None:
        self._name, self._kind, self._default = name, kind, default

    def read(self) -> T:
        try:
            data, _ = files.read_regular(paths.state_dir() / self._name)
            return msgspec.json.decode(data, type=self._kind)
        except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._default

    def write(self, value: T) -> None:
        """Write the value with one line per field, for people who read the file."""
        data = msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
        files.write_private(paths.state_dir() / self._name, data)


class TakenLesson(Base, frozen=True, kw_only=True):
    """A lesson that the student finished."""

    day: str
    right: int
    """How many of the two answers were right."""
    rates_per_s: dict[str, float] = msgspec.field(default_factory=dict)
    """The rate of each step on the simulated disk, by ``run/step``."""


class _Theme(msgspec.Struct, frozen=True):
    theme: str = ""


_NO_REFERENCES: tuple[OwnReference, ...] = ()
_DECLARATIONS = _File("declarations.json", dict[str, Declaration], {})
_NOTES = _File("notes.json", dict[str, str], {})
_LESSONS = _File("lessons.json", dict[str, TakenLesson], {})
_REFERENCES = _File("references.json", tuple[OwnReference, ...], _NO_REFERENCES)


def declarations() -> dict[str, Declaration]:
    """Return what the user declared about each target, by the target's identity."""
    return {identity: replace(declaration, remembered=True) for identity, declaration in _DECLARATIONS.read().items()}


def declare(identity: str, declaration: Declaration) -> None:
    """Save the declaration, replacing the previous one. An empty declaration only removes the previous one."""
    saved_declarations = _DECLARATIONS.read()
    declarations = {key: value for key, value in saved_declarations.items() if key != identity}
    if declaration:
        declarations[identity] = replace(declaration, remembered=False)
    if declarations != saved_declarations:
        _DECLARATIONS.write(declarations)


def notes() -> dict[str, str]:
    """Return the user's notes on saved runs, by run id. They are not in the runs' documents, because a document that is
    altered no longer matches its digest."""
    return _NOTES.read()


def save_note(run: str, text: str) -> None:
    """Save the note, replacing the previous one. An empty note only removes the previous one."""
    other_notes = {other_run: other_text for other_run, other_text in notes().items() if other_run != run}
    _NOTES.write({**other_notes, run: text} if text else other_notes)


def forget_notes(run_ids: Iterable[str]) -> None:
    saved_notes, ids = notes(), set(run_ids)
    if ids & saved_notes.keys():
        _NOTES.write({run: text for run, text in saved_notes.items() if run not in ids})


def taken_lessons() -> dict[str, TakenLesson]:
    return _LESSONS.read()


def save_lesson(name: str, lesson: TakenLesson) -> None:
    _LESSONS.write({**taken_lessons(), name: lesson})


def own_references() -> tuple[OwnReference, ...]:
    return _REFERENCES.read()


def add_references(references: Sequence[OwnReference]) -> None:
    """Add references. They replace older references with the same names."""
    new_names = {reference.name for reference in references}
    _REFERENCES.write((*(reference for reference in own_references() if reference.name not in new_names), *references))


def remove_references(name: str) -> None:
    """Remove the references of that name. Raises Refused if there are none."""
    saved_references = own_references()
    other_references = tuple(reference for reference in saved_references if reference.name != name)
    if len(other_references) == len(saved_references):
        names = sorted({reference.name for reference in saved_references})
        raise Refused(
            f"no reference of your own is called '{name}'.{hint_for(name, names)} 'fstui references' shows them"
        )
    _REFERENCES.write(other_references)


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


def save_theme(name: str) -> None:
    files.write_private(paths.config_dir() / "theme.toml", f'theme = "{name}"\n'.encode())
