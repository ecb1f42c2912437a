"""What the user declared of a storage, kept by the identity of the target from one day to the next."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.model.declaration import Declaration
from fstui.state.remembered import Remembered

_KEPT = Remembered("declarations.json", dict[str, Declaration], {})


def recall() -> dict[str, Declaration]:
    """What was declared, by the target's identity. A broken file declares nothing."""
    return {identity: replace(said, remembered=True) for identity, said in _KEPT.read().items()}


def remember(identity: str, declaration: Declaration) -> None:
    """Keep the declaration, replacing an older one; an empty one is forgotten. Raises OSError, Refused."""
    before = _KEPT.read()
    kept = {key: said for key, said in before.items() if key != identity}
    if declaration:
        kept[identity] = replace(declaration, remembered=False)
    if kept != before:
        _KEPT.write(kept)
