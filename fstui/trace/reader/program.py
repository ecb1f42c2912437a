"""The main function of ``flush_counter``, ``watch`` and ``at_risk``: trace until stdin closes, then clean up."""

import contextlib
import gc
import os
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from fstui.measure.wire.stdio import ignore_signals, read_settings, say
from fstui.trace.reader.tracefs import TracefsError, reason_of


class Removable(Protocol):
    def remove(self) -> None: ...


Trace = TypeVar("Trace", bound=Removable)


def serve(create: Callable[[dict[str, Any]], Trace], run: Callable[[Trace], None]) -> None:
    """Call ``create`` with the settings from stdin. It starts a trace, or raises an error with the reason. Then call
    ``run``, which returns when stdin has closed. Finally remove the trace and its entry in the ledger."""
    ignore_signals()
    gc.disable()  # these programs create few reference cycles, and the garbage collector would scan many tuples
    settings = read_settings()
    with contextlib.suppress(BrokenPipeError):
        try:
            trace = create(settings)
        except (TracefsError, OSError) as problem:
            say(error=reason_of(problem))
        else:
            try:
                run(trace)
            finally:
                trace.remove()
    remove_entry(settings["entry"])


def remove_entry(entry: str | None) -> None:
    if entry:
        with contextlib.suppress(OSError):
            os.unlink(entry)
