"""What a probe reports beside its samples, or in their place: figures, and a histogram of an outside program's own."""

from __future__ import annotations

from typing import Any

import msgspec

from fstui.measure import kinds as measures
from fstui.measure.wire.frames import BadFrame
from fstui.model.settings import Figures


class Reported:
    """Figures that come in pieces."""

    def __init__(self, probe: str) -> None:
        self._fields: dict[str, Any] = {measures.TAG: probe}
        self.figures: Figures | None = None
        self.histogram: list[tuple[int, int]] = []
        """(value in ns, count), ascending."""

    def note(self, fields: dict[str, Any]) -> None:
        """Newer figures: intervals and the rows of a histogram are added to those before, others take their place.

        Raises BadFrame where they are none of this kind of step.
        """
        rest = dict(fields)
        self.histogram += [(round(ms * 1e6), count) for ms, count in rest.pop("histogram", [])]
        if "intervals" in rest:
            rest["intervals"] = [*self._fields.get("intervals", []), *rest["intervals"]]
        self._fields |= rest
        try:
            self.figures = measures.figures_from(self._fields)
        except msgspec.ValidationError as error:
            raise BadFrame(f"the probe's figures make no sense: {error}") from None
