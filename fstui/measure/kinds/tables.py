"""A step's own keys in a scenario file → its settings: an unknown key, a wrong type, what cannot be run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from fstui.measure import kinds as measures
from fstui.measure.kinds.base import StepSettings
from fstui.model.errors import Refused


def checked(probe: str, name: str, table: Mapping[str, Any]) -> StepSettings:
    """The settings of the step of that name. Raises Refused with a mistake's key."""
    kinds = {known: kind for known, kind in measures.settings_kinds().items() if kind.in_scenarios}
    kind = kinds.get(probe)
    if kind is None:
        raise Refused(f"step {name!r}: no probe {probe!r}. There are: {', '.join(kinds)}.")
    for key in table.keys() - set(kind.__struct_fields__):
        raise Refused(f"step {name!r}: Object contains unknown field `{key}`")
    try:
        settings = msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise Refused(f"step {name!r}: {where_in(error)}{_allowed(kind, error)}") from None
    for mistake in settings.mistakes():
        raise Refused(f"step {name!r}: {mistake}")
    return settings


def takes_server(probe: str) -> bool:
    """A step of that kind names a server, which the scenario may say once for all of them."""
    kind = measures.settings_kinds().get(probe)
    return kind is not None and {"server", "options"} <= set(kind.__struct_fields__)


def where_in(error: Exception) -> str:
    """msgspec says ``… - at `$.server.kind```; people read ``server.kind: …``."""
    what, _, place = str(error).partition(" - at `$.")
    return f"{place.rstrip('`')}: {what}" if place else what


def _allowed(kind: type[StepSettings], error: Exception) -> str:
    """The words that a key takes, where another one was given."""
    key = str(error).partition(" - at `$.")[2].rstrip("`").partition("[")[0]
    kinds = [get_type_hints(kind).get(key)]
    while kinds and (inner := [kind for kind in get_args(kinds[0]) if get_origin(kind) is Literal]):
        kinds = inner  # a list of words
    words = [word for word in get_args(kinds[0]) if isinstance(word, str)]
    return f". It takes {', '.join(words)}" if words else ""
