"""What the witness of the power-cut check shows on stderr, and how it ends."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from fstui.cli.execution import FAILED, INTERRUPTED
from fstui.cli.output import say
from fstui.model.quantities import count, rate, seconds
from fstui.runs.power_cut import SILENT_S, BadLog, LogFull, View, Witness

REDRAW_S, LINE_S = 0.25, 10.0


def keep(file: Path) -> int:
    """Witness stdin in the file; the exit code. Raises Refused where the file cannot be made."""
    return _Face(Witness(file)).go()


class _Face:
    """The witness on stderr: a line that is drawn again on a terminal, else one every ten seconds."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness
        self._redraws = sys.stderr is not None and sys.stderr.isatty()
        self._introduced = False

    def go(self) -> int:
        """Returns the exit code."""
        trouble, interrupted = "", False
        try:
            self._witness.listen(0, self._show, REDRAW_S if self._redraws else LINE_S)
        except KeyboardInterrupt:
            interrupted = True
        except (LogFull, BadLog) as error:
            trouble = str(error)
        with suppress(KeyboardInterrupt):
            try:
                self._witness.close()
            except LogFull as error:
                trouble = trouble or str(error)
        return self._concluded(trouble, interrupted)

    def _show(self, view: View) -> None:
        self._introduce()
        if self._redraws:
            print(f"\r\x1b[K{_line(view)}"[:200], end="", file=sys.stderr, flush=True)
        elif view.last:
            say(_line(view))

    def _introduce(self) -> None:
        header = self._witness.header
        if header is None or self._introduced:
            return
        self._introduced = True
        say(f"{header.host.hostname}: {header.directory} on {header.target.fstype}")
        if self._witness.on_the_same_host:
            say("! the writer runs on this very box: this log loses its power with it. Put the witness elsewhere.")

    def _concluded(self, trouble: str, interrupted: bool) -> int:
        if self._redraws:
            print(file=sys.stderr)
        self._introduce()
        view, log, path = self._witness.view(), self._witness.log, str(self._witness.path)
        kept = f"{count(self._witness.durable)} acknowledgements are kept in {path}"
        if trouble:
            say(f"fstui: {trouble}. {kept}; what came after is not known: end the writer and begin again.")
            return FAILED
        if log is None or not view.acknowledged:
            say("fstui: nothing was acknowledged" + ("." if log else ": no writer spoke. See what ssh said above."))
            return INTERRUPTED if interrupted else FAILED
        if log.failed:
            say(f"The writer's storage {log.ended}. {kept}.")
            say(f"Did it lose its power? fstui powercut verify DIR --storage-was-cut < {path}")
        elif log.ended is not None:
            say(f"The writer ended by itself: {log.ended}. No power was cut while it wrote; {kept}.")
        elif interrupted:
            say(f"Ended by you, {seconds(view.since_line_s)} after the last sign of life. {kept}.")
        else:
            say(f"The connection broke without the writer's end: its power is gone, or the network. {kept}.")
        if log.ended is None:
            say(f"When the box is up again: ssh BOX fstui powercut verify DIR < {path}")
        return INTERRUPTED if interrupted else 0


def _line(view: View) -> str:
    if view.last is None:
        return "waiting for the first acknowledgement"
    state = ""
    if view.since_line_s >= SILENT_S:
        state = f" · ! no sign of life for {seconds(view.since_line_s)}: power or network gone (Ctrl-C ends, log safe)"
    elif view.since_ack_s >= SILENT_S:
        state = f" · ! connected, but no acknowledgement for {seconds(view.since_ack_s)}: its storage hangs"
    last = f"last: writer {view.last.writer}, record {count(view.last.sequence)}"
    kept = f"{count(view.acknowledged)} acknowledged, {count(view.durable)} durable here"
    return f"{rate(view.rate_per_s)}/s · {kept} · {last}{state}"
