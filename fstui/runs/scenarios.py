"""What can be run: the shipped scenarios, which are there at once, and the user's own, whose directory may hang."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fstui.measure.children import in_child
from fstui.model.errors import Refused
from fstui.runs.scenario import Form, Scalar, Scenario, Setting, changed, expand, load, names, shipped, size_of

__all__ = [
    "Form",
    "Known",
    "Scalar",
    "Scenario",
    "Setting",
    "changed",
    "check",
    "named",
    "own",
    "shipped_ones",
    "size_of",
]


_OWN = "the directory of your own scenarios"


class Known(NamedTuple):
    """A scenario and the name that it is run by."""

    name: str
    scenario: Scenario


def shipped_ones() -> list[Known]:
    """Those that came with the package, in their order of use."""
    return [Known(name, load(name)) for name in shipped()]


async def own() -> tuple[list[Known], list[str]]:
    """The user's own, and what is wrong with the files that cannot be run."""
    try:
        return await in_child(_own, where=_OWN)
    except (Refused, OSError) as trouble:
        return [], [str(trouble)]


async def named(name: str) -> Scenario:
    """By its name or its file. Raises Refused with file, table and key of a mistake."""
    if name in shipped():
        return load(name)
    is_file = "/" in name or name.endswith(".toml")
    return await in_child(load, name, where=name if is_file else _OWN)


def check(scenario: Scenario, settings: Mapping[str, str]) -> None:
    """Raises Refused where these settings cannot be."""
    expand(scenario, settings)


def _own() -> tuple[list[Known], list[str]]:
    known: list[Known] = []
    broken: list[str] = []
    for name in names():
        if name not in shipped():
            try:
                known.append(Known(name, load(name)))
            except Refused as mistake:
                broken.append(str(mistake))
    return known, broken
