"""A hostile name, a function that appends it to every text of a document, and checks that no output contains it raw."""

import unicodedata
from functools import cache
from typing import Any, TypeVar

import msgspec

NAME = (
    "\x1b[31m\x07\x00\r\n\t\x7f"  # C0: colour, bell, newline, DEL
    "\x9b2J\x85"  # C1: the same in one byte, next line
    "\u202e\u2066\u061c\u200f"  # reading directions
    "\xad\u200b\u2060\ufeff\U000e0041"  # invisible characters
    "\u2028\u2029"  # lines and paragraphs
    "\udcff"  # a byte that is not UTF-8
    "[red]|*x* <b> `c` =1+1 \"'"  # markup: rich, Markdown, HTML, a spreadsheet, TOML
    "\nverdict: kept"  # its own line
)
_type_info = cache(msgspec.inspect.type_info)
_UNCHANGED_FIELDS = ("schema", "started_at", "probe")
"""Fields that identify something: with other values, the document would be another one."""

Document = TypeVar("Document")


def everywhere(document: Document) -> Document:
    """Return the document with the hostile name appended to each text. References still match."""
    renamed: Document = _renamed(document, None)
    return renamed


def is_safe(text: str) -> bool:
    """Return whether no character controls a terminal, changes the reading direction, or is a surrogate."""
    letters = set(text) - {"\n"}
    return not any(unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") for letter in letters)


def assert_safe(text: str) -> None:
    """Check that the text is safe, and that the hostile name added no line to it."""
    assert is_safe(text), [line for line in text.split("\n") if not is_safe(line)]
    assert "\nverdict: kept" not in text
    text.encode()


def _renamed(value: Any, kind: msgspec.inspect.Type | None, name: str = "") -> Any:
    if isinstance(value, msgspec.Struct):
        fields = _type_info(type(value)).fields  # type: ignore[attr-defined]
        texts = {field.name: _renamed(getattr(value, field.name), field.type, field.name) for field in fields}
        return msgspec.structs.replace(value, **texts)
    match kind:
        case msgspec.inspect.UnionType(types=types) if value is not None:
            return _renamed(value, next(one for one in types if not isinstance(one, msgspec.inspect.NoneType)), name)
        case msgspec.inspect.StrType() if name not in _UNCHANGED_FIELDS:
            return value + NAME
        case msgspec.inspect.VarTupleType(item_type=item):
            return tuple(_renamed(part, item) for part in value)
        case _:
            return value
