"""What a probe's frames must say, by kind: a library that prints into its output must not be taken for it."""

from __future__ import annotations

from typing import Any

import msgspec

from fstui.measure.wire.frames import BadFrame, Frame
from fstui.model.base import Amount, Base, Count
from fstui.model.host import Process
from fstui.model.steps import Turn


class _Preparing(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    done: Count
    total: Count


class _InFlight(Base, frozen=True, kw_only=True):
    writer: Count
    since_ns: Count
    call: str


class _Error(Base, frozen=True, kw_only=True):
    call: str
    errno: int | None
    message: str


class _Done(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    start_ns: Count
    end_ns: Count
    held_ns: Count
    cpu_wait_ns: Count | None = None
    longest_cpu_wait_ns: Count | None = None
    stolen_ns: Count | None = None
    turns: tuple[Turn, ...] = ()


class _Figures(Base, frozen=True, kw_only=True):
    """Beside those of its own kind of step."""

    histogram: tuple[tuple[Amount, Count], ...] = ()
    """In ms."""
    intervals: tuple[dict[str, Any], ...] = ()


_KINDS: dict[str, type] = {
    "facts": Process,
    "preparing": _Preparing,
    "inflight": _InFlight,
    "figures": _Figures,
    "error": _Error,
    "done": _Done,
}


def understood(frame: Frame) -> dict[str, Any]:
    """The frame's fields. Raises BadFrame where they are not what a probe of ours says."""
    try:
        msgspec.convert(frame.fields, _KINDS.get(frame.kind, dict[str, Any]))
    except msgspec.ValidationError as error:
        raise BadFrame(f"the probe's {frame.kind!r} makes no sense: {error}") from None
    return frame.fields
