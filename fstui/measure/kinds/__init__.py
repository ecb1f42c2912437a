"""The parent's side of each kind of step: its settings, its figures, what it writes and which syncs it does.

Each kind has a module here with a settings struct. If its probe returns more than samples, the module also has a
figures struct. The module, the probe in ``fstui.measure.probes`` and the tag of the structs have the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused, hint_for
from fstui.model.settings import Figures, Settings, UnknownFigures, UnknownSettings

if TYPE_CHECKING:
    from fstui.measure.kinds.sync_writes import SyncWrites

TAG = "probe"
MAX_SECONDS = 31 * 86400
MAX_OPS_PER_S = 1_000_000
MAX_BYTES = 1 << 50


class StepSettings(Settings, Base, frozen=True, kw_only=True, tag_field=TAG):
    @property
    def probe(self) -> str:
        return str(self.__struct_config__.tag)

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    def as_sync_writes(self) -> SyncWrites | None:
        """Return the settings of ``sync_writes`` for the same writes and syncs. They determine how many flushes an
        operation should cause. Return None if that number is unknown."""
        return None


class StepFigures(Figures, Base, frozen=True, kw_only=True, tag_field=TAG):
    """What one kind of step reports in addition to samples."""


_Kind = TypeVar("_Kind", StepSettings, StepFigures)


@cache
def settings_kinds() -> dict[str, type[StepSettings]]:
    return _find_kinds(StepSettings)


@cache
def figures_kinds() -> dict[str, type[StepFigures]]:
    return _find_kinds(StepFigures)


def settings_from(fields: Mapping[str, Any]) -> Settings:
    """Return the settings in a run document. Raises msgspec.ValidationError if they do not fit their kind."""
    kind = settings_kinds().get(str(fields.get(TAG)))
    # the settings of a step that never began have only the tag
    return UnknownSettings(fields) if kind is None or fields.keys() == {TAG} else msgspec.convert(fields, kind)


def figures_from(fields: Mapping[str, Any]) -> Figures:
    """Return the figures of a run document or a probe. Raises msgspec.ValidationError if they do not fit their kind."""
    kind = figures_kinds().get(str(fields.get(TAG)))
    return UnknownFigures(fields) if kind is None else msgspec.convert(fields, kind)


def settings_of_table(probe: str, name: str, table: Mapping[str, Any]) -> StepSettings:
    """Return the settings of step ``name`` in a scenario file. Raises Refused, which names the step and the mistake."""
    kinds = {tag: kind for tag, kind in settings_kinds().items() if kind.in_scenarios}
    kind = kinds.get(probe)
    if kind is None:
        raise Refused(f"step {name!r}: no probe {probe!r}. Choose one of: {', '.join(kinds)}.")
    for key in table.keys() - set(kind.__struct_fields__):
        raise Refused(f"step {name!r}: there is no key `{key}`.{hint_for(key, kind.__struct_fields__)}")
    try:
        settings = msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise Refused(f"step {name!r}: {message_with_key(error)}{_allowed_words(kind, error)}") from None
    for mistake in settings.mistakes():
        raise Refused(f"step {name!r}: {mistake}")
    return settings


def takes_server(probe: str) -> bool:
    """Return whether steps of that kind use a server. A scenario may set one server for all its steps."""
    kind = settings_kinds().get(probe)
    return kind is not None and {"server", "options"} <= set(kind.__struct_fields__)


def message_with_key(error: Exception) -> str:
    """Return msgspec's message ``… - at `$.server.kind``` as ``server.kind: …``, in words for the author of a file."""
    message, _, key = str(error).partition(" - at `$.")
    message = message.replace("Object contains unknown field", "there is no key")
    message = message.replace("Object missing required field", "this key is missing:")
    return f"{key.rstrip('`')}: {message}" if key else message


def _allowed_words(kind: type[StepSettings], error: Exception) -> str:
    """Return a sentence with the words that are allowed for the setting in the error; empty if it is not a word."""
    key = str(error).partition(" - at `$.")[2].rstrip("`").partition("[")[0]
    hint = get_type_hints(kind).get(key)
    # the type of a list of words contains the Literal
    literal = next((inner for inner in get_args(hint) if get_origin(inner) is Literal), hint)
    words = [word for word in get_args(literal) if isinstance(word, str)]
    return f". It takes {', '.join(words)}" if words else ""


def _find_kinds(base: type[_Kind]) -> dict[str, type[_Kind]]:
    return {
        module.name: kind
        for module in iter_modules(__path__)
        for kind in vars(import_module(f"{__name__}.{module.name}")).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind.__struct_config__.tag == module.name
    }
