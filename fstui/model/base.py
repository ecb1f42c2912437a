"""What every struct of the package is."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""Operations, bytes, ns: a document in which one is negative is damaged."""
Amount = Annotated[float, Meta(ge=0, le=1e15)]
"""Seconds, rates."""
Share = Annotated[float, Meta(ge=0, le=1e6)]


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """Frozen, keyword-only: what was seen does not change."""
