"""The witness: keeps what the writer of the power-cut check acknowledges, on a machine that keeps its power.

Every line goes to the file as it came; the file is synced at most every 200 ms, and what is durable here is said.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from fstui.engine.powercut import Header, boot_id, decode_header
from fstui.model import Refused
from fstui.probes.acks import Ack, BadLog, Log, parse_header
from fstui.quantities import plain
from fstui.state.files import sync_directory

__all__ = ["SILENT_S", "BadLog", "LogFull", "View", "Witness"]

SYNC_S = 0.2
SILENT_S = 3.0
"""The writer shows a sign of life every second."""
RATE_S = 2.0
_READ_BYTES = 1 << 16


class View(NamedTuple):
    """What the witness shows."""

    acknowledged: int
    durable: int
    """Of these, how many are synced to the file."""
    rate_per_s: float
    last: Ack | None
    since_ack_s: float
    since_line_s: float
    """Since any sign of life."""


class LogFull(Exception):  # noqa: N818  said to the user
    """The log could not be written; what it holds up to its last sync stands."""


class Witness:
    """One log."""

    def __init__(self, path: Path) -> None:
        """Make the file. Raises Refused where it exists already or cannot be made."""
        self.path = path
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        shown = plain(str(path))
        try:
            self._fd = os.open(path, flags, 0o600)
            sync_directory(path.resolve().parent)
        except FileExistsError:
            raise Refused(f"{shown} exists already: every cut has a log of its own, name a new file") from None
        except OSError as error:
            raise Refused(f"{shown}: {error.strerror}. The witness needs a place for its log.") from None
        self.log: Log | None = None
        self.header: Header | None = None
        self.durable = 0
        self.cut_off = False
        self._rest = b""
        self._dirty = False
        now = time.monotonic()
        self._synced_at = self._line_at = self._ack_at = now
        self._recent: list[tuple[float, int]] = [(now, 0)]

    def listen(self, source: int, show: Callable[[View], None], every_s: float) -> None:
        """Until the writer's end or the connection's. Raises BadLog, LogFull; KeyboardInterrupt passes through."""
        shown_at = 0.0
        while True:
            readable, _, _ = select.select([source], [], [], min(SYNC_S, every_s))
            if readable:
                data = os.read(source, _READ_BYTES)
                if not data:
                    return
                self._hear(data)
            now = time.monotonic()
            if self._dirty and now - self._synced_at >= SYNC_S:
                self.sync()
            if now - shown_at >= every_s:
                shown_at = now
                show(self.view())

    @property
    def on_the_same_box(self) -> bool:
        """The witness would lose its power with the box that it watches."""
        return self.header is not None and bool(boot_id()) and self.header.boot == boot_id()

    def view(self) -> View:
        """As it is now."""
        now = time.monotonic()
        acknowledged = self.log.acknowledged if self.log else 0
        self._recent.append((now, acknowledged))
        while len(self._recent) > 2 and now - self._recent[1][0] >= RATE_S:
            self._recent.pop(0)
        since, before = self._recent[0]
        rate = (acknowledged - before) / (now - since) if now > since else 0.0
        last = self.log.newest if self.log else None
        return View(acknowledged, self.durable, rate, last, now - self._ack_at, now - self._line_at)

    def sync(self) -> None:
        """Make durable what came so far. Raises LogFull."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise LogFull(f"{plain(str(self.path))}: {error.strerror}") from None
        self._dirty = False
        self._synced_at = time.monotonic()
        self.durable = self.log.acknowledged if self.log else 0

    def close(self) -> None:
        """Keep everything; an empty log is removed. Raises LogFull."""
        try:
            self.cut_off = bool(self._rest) and self.log is not None
            if self.log is None:
                self.path.unlink(missing_ok=True)
            else:
                self.sync()
        finally:
            os.close(self._fd)

    def _hear(self, data: bytes) -> None:
        self._line_at = time.monotonic()
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        whole = []
        for line in lines:
            if self.log is None:
                self._begin(line)
            else:
                before = self.log.newest
                self.log.add(line)
                if self.log.newest is not before:
                    self._ack_at = self._line_at
            if self.log is not None:
                whole.append(line + b"\n")
        self._write(b"".join(whole))

    def _begin(self, line: bytes) -> None:
        """The header. What a login shell may print before it is passed over."""
        try:
            self.log = Log(parse_header(line))
        except BadLog:
            if line.startswith(b'{"fstui"'):
                raise
            return
        try:
            self.header = decode_header(self.log.header)
        except Refused as refusal:
            raise BadLog(str(refusal)) from None

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
                self._dirty = True
        except OSError as error:
            raise LogFull(f"{plain(str(self.path))}: {error.strerror}") from None
