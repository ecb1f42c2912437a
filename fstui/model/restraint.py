"""What a run holds itself back to, for the sake of those who need the box."""

from __future__ import annotations

from fstui.model.base import Base, Count


class Restraint(Base, frozen=True, kw_only=True):
    """Nothing, where neither was asked for. What was measured under one tells nothing of how fast a storage is."""

    bytes_per_s: Count | None = None
    """What the probes write a second at the most, their files included (``--max-rate``); what a filesystem adds of its
    own comes on top."""
    idle: bool = False
    """What writes runs in the idle I/O class, and at the lowest priority for a CPU (``--idle``)."""

    def __bool__(self) -> bool:
        return bool(self.bytes_per_s or self.idle)


FREE = Restraint()
"""As fast as it goes."""
