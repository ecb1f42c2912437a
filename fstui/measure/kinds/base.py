"""What the settings and the figures of every kind of step are: structs with the tag ``probe``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fstui.model.base import Base
from fstui.model.settings import Figures, Settings

if TYPE_CHECKING:
    from fstui.measure.kinds.sync_writes import SyncWrites

MOST_SECONDS = 31 * 86400
MOST_OPS_PER_S = 1_000_000
MOST_BYTES = 1 << 50


class StepSettings(Settings, Base, frozen=True, kw_only=True, tag_field="probe"):
    """What one kind of step is asked for."""

    @property
    def probe(self) -> str:
        return str(self.__struct_config__.tag)

    def as_dict(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    def as_sync_writes(self) -> SyncWrites | None:
        """The writes and syncs that reach the filesystem as if ``sync_writes`` had been asked for these.

        None where its operations are something else: nothing is known of what each of them owes below.
        """
        return None


class StepFigures(Figures, Base, frozen=True, kw_only=True, tag_field="probe"):
    """What one kind of step tells besides samples."""
