"""The base class of all documents, and checked number types."""

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
"""Operations, bytes, ns. A negative number means that the document is damaged."""
Amount = Annotated[float, Meta(ge=0, le=1e15)]
"""Seconds, rates."""
Share = Annotated[float, Meta(ge=0, le=1e6)]


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """A frozen, keyword-only struct: evidence does not change."""
