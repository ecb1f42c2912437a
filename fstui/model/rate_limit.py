"""The limits of a run, which protect other users of the host."""

from fstui.model.base import Base, Count


class RateLimit(Base, frozen=True, kw_only=True):
    """The limits of a run; false if there are none. Rates measured under a limit do not show the storage's speed."""

    bytes_per_s: Count | None = None
    """The most that probes write per second, including their files (``--max-rate``). Metadata comes on top."""
    idle: bool = False
    """Probes run in the idle I/O class and at the lowest CPU priority (``--idle``)."""

    def __bool__(self) -> bool:
        return bool(self.bytes_per_s or self.idle)


UNLIMITED = RateLimit()
