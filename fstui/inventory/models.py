"""The model table: what a disk's model says of its medium, and what hypervisors do with flushes. The data, with its
sources, is in models.toml.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Literal

import msgspec

from fstui.model import MediumCache, MediumClass

Grade = Literal["consumer", "data centre", "cloud", "raid", "virtual"]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str


class Model(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model says. ``class_`` is unknown where it says nothing of the medium."""

    pattern: str
    class_: MediumClass = msgspec.field(default="unknown", name="class")
    write_cache: MediumCache | None = None
    """None where the drive's own word counts."""
    ephemeral: bool | None = None
    grade: Grade
    says: str


class Hypervisor(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a hypervisor is known to do with a guest's flush."""

    name: str
    habit: str


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """models.toml."""

    model: tuple[Model, ...]
    hypervisor: tuple[Hypervisor, ...]


@cache
def table() -> Table:
    """The whole table, read once."""
    data = resources.files("fstui.inventory").joinpath("models.toml").read_bytes()
    return msgspec.toml.decode(data, type=Table)


@lru_cache(maxsize=4096)
def known(model: str) -> Model | None:
    """The first row that fits a model, or None."""
    return next((row for pattern, row in _patterns() if pattern.search(model)), None)


def habit(virtualization: str | None) -> str | None:
    """What that hypervisor is known to do with flushes, or None."""
    return next((row.habit for row in table().hypervisor if row.name == virtualization), None)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], Model], ...]:
    return tuple((re.compile(row.pattern, re.IGNORECASE), row) for row in table().model)
