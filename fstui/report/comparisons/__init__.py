"""The formats of a comparison, one module each: what ``fstui compare --format`` takes.

To add one is to add its module: ``render``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import Protocol, cast

from fstui.model.run import Run

PLAIN = "plain"


class Format(Protocol):
    """What each of these modules holds."""

    def render(self, runs: Sequence[Run], width: int | None, per_hour: Mapping[str, float]) -> str | bytes:
        """The runs beside each other, safe to print.

        ``width``: of the terminal, where it is one. ``per_hour``: prices by the ids of their runs.
        """


@cache
def names() -> tuple[str, ...]:
    """``plain`` first, the others by name; none of them is imported for it."""
    return (PLAIN, *sorted(module.name for module in iter_modules(__path__) if module.name != PLAIN))


def render(
    name: str, runs: Sequence[Run], width: int | None = None, per_hour: Mapping[str, float] = MappingProxyType({})
) -> str | bytes:
    """The runs in the format of that name."""
    format_ = cast(Format, import_module(f"{__name__}.{name}"))
    return format_.render(runs, width, per_hour)
