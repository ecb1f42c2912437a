"""What the user measured on storage of their own, and named: held beside what others have published."""

from __future__ import annotations

from fstui.model.base import Amount, Base, Count
from fstui.model.storage import MediumClass


class OwnReference(Base, frozen=True, kw_only=True):
    """Runs of one operation on storage of one kind, taken together."""

    name: str
    """Whose they are: ``our db hosts``."""
    operation: str
    """In the words of the published ones."""
    block_bytes: Count
    media: tuple[MediumClass, ...]
    """Of the devices that its commits waited for."""
    models: tuple[str, ...] = ()
    runs: Count = 1
    slowest_per_s: Amount
    per_s: Amount
    """The median."""
