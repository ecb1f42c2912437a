"""The references of one's own, kept from one day to the next."""

from __future__ import annotations

from collections.abc import Sequence

from fstui.model.errors import Refused, meant
from fstui.model.own_references import OwnReference
from fstui.state.remembered import Remembered

_NONE: tuple[OwnReference, ...] = ()
_KEPT = Remembered("references.json", tuple[OwnReference, ...], _NONE)


def recall() -> tuple[OwnReference, ...]:
    """All of them. A file that was broken holds none."""
    return _KEPT.read()


def add(new: Sequence[OwnReference]) -> None:
    """Keep them, in the place of those of the same name. Raises OSError, and Refused without a home."""
    names = {one.name for one in new}
    _KEPT.write((*(one for one in recall() if one.name not in names), *new))


def remove(name: str) -> None:
    """Forget those of that name. Raises Refused where there are none, OSError."""
    before = recall()
    kept = tuple(one for one in before if one.name != name)
    if len(kept) == len(before):
        known = sorted({one.name for one in before})
        raise Refused(f"no reference of your own is called '{name}'.{meant(name, known)} 'fstui references' shows them")
    _KEPT.write(kept)
