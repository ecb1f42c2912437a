"""What the kernel says about its events: where each field stands. Never from memory: it changes between kernels."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from fstui.trace.reader.tracefs import Untraceable

FIELD = re.compile(
    r"field:(?P<declared>[^;]+);\s*offset:(?P<at>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>\d);)?"
)
NUMBERS = {1: "b", 2: "h", 4: "i", 8: "q"}
"""Signed, by size; upper case is unsigned (struct)."""


class Field(NamedTuple):
    """One field of an event."""

    at: int
    size: int
    signed: bool
    text: bool
    """An array of characters, ended by a NUL or its size."""


class Format(NamedTuple):
    """One event: its number in the buffer, and its fields."""

    name: str
    id: int
    fields: dict[str, Field]

    def reader(self, *names: str) -> struct.Struct:
        """What takes those fields out of an event. They are named in the order in which they stand there.

        Raises Untraceable.
        """
        form, at = "=", 0
        for name in names:
            field = self.fields.get(name)
            if field is None or field.at < at:
                raise Untraceable(f"the event {self.name} of this kernel has no field {name} where it is looked for")
            form += f"{field.at - at}x{letter(field)}"
            at = field.at + field.size
        try:
            return struct.Struct(form)
        except struct.error as error:
            raise Untraceable(f"the format of the event {self.name} cannot be understood: {error}") from error


def letter(field: Field) -> str:
    """The field in the words of struct."""
    if field.text:
        return f"{field.size}s"
    if field.size not in NUMBERS:
        raise Untraceable(f"a field of {field.size} bytes is no number")
    return NUMBERS[field.size] if field.signed else NUMBERS[field.size].upper()


def fields_of(text: str) -> dict[str, Field]:
    """The fields that a format or the header of a page declares."""
    found = {}
    for match in FIELD.finditer(text):
        words = match["declared"].split()
        if not words:
            continue
        name, bracket, _ = words[-1].partition("[")
        text_array = bool(bracket) and "char" in words and "__data_loc" not in words
        found[name] = Field(int(match["at"]), int(match["size"]), match["signed"] == "1", text_array)
    return found


def parse(name: str, text: str) -> Format:
    """The ``format`` file of an event. Raises Untraceable."""
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    fields = fields_of(text)
    if number is None or not fields:
        raise Untraceable(f"the format of the event {name} cannot be understood")
    return Format(name, int(number[1]), fields)


class PageLayout(NamedTuple):
    """The file ``events/header_page``: how a page of the buffer is laid out."""

    commit: Field
    data_at: int
    bytes: int
    """Of a whole page: a read of so many gets one."""


def parse_page_layout(text: str) -> PageLayout:
    """Raises Untraceable."""
    fields = fields_of(text)
    if not {"timestamp", "commit", "data"} <= fields.keys() or fields["timestamp"] != Field(0, 8, False, False):
        raise Untraceable("the header of a page of the trace buffer cannot be understood")
    data = fields["data"]
    return PageLayout(fields["commit"], data.at, data.at + data.size)
