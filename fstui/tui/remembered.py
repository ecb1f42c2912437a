"""What the user has declared about a storage, from one day to the next."""

from __future__ import annotations

import msgspec

from fstui.model import MediumCache, MediumClass, Refused, Target
from fstui.state import declarations
from fstui.tui.choices import Choices


def recall(target: Target) -> Choices:
    """What was declared for this storage before; nothing where nothing was, or where it cannot be read."""
    try:
        said = declarations.recall(target.identity) if target.identity else None
    except (OSError, Refused):
        said = None
    return Choices(medium=said.medium, write_cache=said.write_cache) if said else Choices()


def keep(target: Target, chosen: Choices) -> None:
    """Remember it, or forget it where nothing is declared any more. Raises OSError, or Refused without a home."""
    if not target.identity:
        return
    if chosen.medium is None and chosen.write_cache is None:
        declarations.forget(target.identity)
        return
    medium, cache = chosen.medium, chosen.write_cache
    said = declarations.Declaration(
        medium=None if medium is None else msgspec.convert(medium, MediumClass),
        write_cache=None if cache is None else msgspec.convert(cache, MediumCache),
    )
    declarations.remember(target.identity, said)
