"""The main function of ``record``, ``watch`` and ``at_risk``: trace until stdin closes, and leave nothing behind."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from fstui.measure.wire.stdio import ignore_signals, read_settings, say
from fstui.trace.reader.tracefs import TracefsError


class Removable(Protocol):
    def remove(self) -> None: ...


Traced = TypeVar("Traced", bound=Removable)


def serve(create: Callable[[dict[str, Any]], Traced], run: Callable[[Traced], None]) -> None:
    """Start a trace by calling ``create`` with the settings from stdin, or print why that is impossible. Then call
    ``run``, which returns when stdin has closed. Finally remove the trace and its entry in the ledger."""
    ignore_signals()
    gc.disable()  # these programs create few reference cycles, and the collector would scan many tuples
    settings = read_settings()
    with contextlib.suppress(BrokenPipeError):
        try:
            traced = create(settings)
        except (TracefsError, OSError) as problem:
            say(error=str(problem))
        else:
            try:
                run(traced)
            finally:
                traced.remove()
    remove_entry(settings["entry"])


def remove_entry(entry: str | None) -> None:
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)
