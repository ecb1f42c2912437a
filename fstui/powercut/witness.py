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

from fstui.model.errors import Refused
from fstui.powercut.header import Header, boot_id, decode_header
from fstui.powercut.log import LONGEST_HEADER, LONGEST_LINE, Ack, BadLog, Lines, Log, parse_header
from fstui.state.files import sync_directory

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
        self._fd = _made(path)
        self.log: Log | None = None
        self.header: Header | None = None
        self.durable = 0
        self._lines = Lines()
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

    @property
    def cut_off(self) -> bool:
        """Something came after the last whole line; it is not kept."""
        return bool(self._lines.rest) and self.log is not None

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
            raise self._full(error) from None
        self._dirty = False
        self._synced_at = time.monotonic()
        self.durable = self.log.acknowledged if self.log else 0

    def close(self) -> None:
        """Keep everything; an empty log is removed. Raises LogFull."""
        try:
            if self.log is None:
                self.path.unlink(missing_ok=True)
            else:
                self.sync()
        finally:
            os.close(self._fd)

    def _hear(self, data: bytes) -> None:
        self._line_at = time.monotonic()
        kept = []
        try:
            for line in self._lines.feed(data, LONGEST_HEADER if self.log is None else LONGEST_LINE):
                self._read(line)
                if self.log is not None:
                    kept.append(line + b"\n")
        finally:  # what came before a damaged line was acknowledged
            self._write(b"".join(kept))

    def _read(self, line: bytes) -> None:
        if self.log is None:
            self._begin(line)
            return
        before = self.log.newest
        self.log.add(line)
        if self.log.newest is not before:
            self._ack_at = self._line_at

    def _begin(self, line: bytes) -> None:
        """The header. What a login shell may print before it is passed over."""
        try:
            fields = parse_header(line)
        except BadLog:
            if line.startswith(b'{"fstui"'):
                raise
            return
        try:
            self.header = decode_header(fields)
        except Refused as refusal:
            raise BadLog(str(refusal)) from None
        self.log = Log(fields)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
                self._dirty = True
        except OSError as error:
            raise self._full(error) from None

    def _full(self, error: OSError) -> LogFull:
        return LogFull(f"{self.path}: {error.strerror}")


def _made(path: Path) -> int:
    """The new log's file descriptor. Raises Refused."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        sync_directory(path.resolve().parent)
    except FileExistsError:
        raise Refused(f"{path} exists already: every cut has a log of its own, name a new file") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}. The witness needs a place for its log.") from None
    return fd
