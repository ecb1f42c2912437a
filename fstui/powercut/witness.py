"""The witness: stores the acknowledgements of the power-cut test, on a machine that keeps its power.

Every line is appended to the log file. The file is synced at least every 200 ms while lines arrive, and the number of
durable acknowledgements is reported.
"""

import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fstui.model.errors import Refused
from fstui.powercut.header import PowerCutHeader, decode_header
from fstui.powercut.log import MAX_HEADER, MAX_LINE, Ack, BadLog, Log, beginning, parse_header
from fstui.state.files import open_user_file, sync_directory

SYNC_INTERVAL_S = 0.2
SILENCE_TIMEOUT_S = 3.0
"""Without a line for this time, the power or the network has failed: the writer prints a line every second."""
RATE_PERIOD_S = 2.0
"""The displayed rate is an average over this time."""
_READ_BYTES = 1 << 16


class WitnessState(NamedTuple):
    ack_count: int
    durable_count: int
    """How many acknowledgements are synced to the log file."""
    rate_per_s: float
    newest_ack: Ack | None
    since_ack_s: float
    since_line_s: float
    """Time since the last line of any kind."""


class LogNotWritten(Exception):  # noqa: N818  its message is printed
    """The log could not be written. Everything up to its last sync is valid."""


class Witness:
    """Receives acknowledgements and stores them in a log file."""

    def __init__(self, path: Path, on_header: Callable[[PowerCutHeader], object] = lambda header: None) -> None:
        """Create the file. Raises Refused if it exists or cannot be created. ``on_header``: called with the header."""
        self.path = path
        self._on_header = on_header
        self._fd = _create(path)
        self.log: Log | None = None
        self.header: PowerCutHeader | None = None
        self.durable_count = 0
        self._incomplete_line = b""
        self._has_unsynced_data = False
        """Whether data was written since the last sync."""
        now = time.monotonic()
        self._synced_at = self._line_at = now
        self.acknowledged_at = now
        """When the last acknowledgement arrived (time.monotonic)."""
        self._counts: list[tuple[float, int]] = [(now, 0)]
        """Time and number of acknowledgements at the states of the last RATE_PERIOD_S."""

    def listen(self, source: int, interval_s: float) -> Iterator[WitnessState]:
        """Read until the connection ends. Yield the state about every ``interval_s``. Raises BadLog, LogNotWritten."""
        shown_at = 0.0
        while True:
            readable, _, _ = select.select([source], [], [], min(SYNC_INTERVAL_S, interval_s))
            if readable:
                data = os.read(source, _READ_BYTES)
                if not data:
                    return
                self._receive(data)
            now = time.monotonic()
            if self._has_unsynced_data and now - self._synced_at >= SYNC_INTERVAL_S:
                self.sync()
            if now - shown_at >= interval_s:
                shown_at = now
                yield self.state()

    def state(self) -> WitnessState:
        now = time.monotonic()
        ack_count = self.log.ack_count if self.log else 0
        self._counts.append((now, ack_count))
        while len(self._counts) > 2 and now - self._counts[1][0] >= RATE_PERIOD_S:
            self._counts.pop(0)
        began, count = self._counts[0]
        rate = (ack_count - count) / (now - began) if now > began else 0.0
        ack = self.log.newest_ack if self.log else None
        return WitnessState(ack_count, self.durable_count, rate, ack, now - self.acknowledged_at, now - self._line_at)

    def sync(self) -> None:
        """Sync the log. Raises LogNotWritten."""
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise self._not_written(error) from None
        self._has_unsynced_data = False
        self._synced_at = time.monotonic()
        self.durable_count = self.log.ack_count if self.log else 0

    def close(self) -> None:
        """Sync and close the log; remove it if it is empty. Raises LogNotWritten."""
        try:
            if self.log is None:
                self.path.unlink(missing_ok=True)
            else:
                self.sync()
        finally:
            os.close(self._fd)

    def _receive(self, data: bytes) -> None:
        self._line_at = time.monotonic()
        *lines, self._incomplete_line = (self._incomplete_line + data).split(b"\n")
        valid = []
        try:
            for line in lines:
                self._add_line(line)
                if self.log is not None:
                    valid.append(line + b"\n")
        finally:  # valid lines are written even if a later line is damaged
            self._write(b"".join(valid))
        max_bytes = MAX_HEADER if self.log is None else MAX_LINE
        if len(self._incomplete_line) > max_bytes:
            begin = beginning(self._incomplete_line)
            raise BadLog(f"{begin} continues for more than {max_bytes} bytes without a newline")

    def _add_line(self, line: bytes) -> None:
        if self.log is None:
            self._read_header(line)
            return
        previous_ack = self.log.newest_ack
        self.log.add(line)
        if self.log.newest_ack is not previous_ack:
            self.acknowledged_at = self._line_at

    def _read_header(self, line: bytes) -> None:
        """Read the header, and skip text that a login shell printed before it."""
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
        self._on_header(self.header)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._fd, data) :]
                self._has_unsynced_data = True
        except OSError as error:
            raise self._not_written(error) from None

    def _not_written(self, error: OSError) -> LogNotWritten:
        return LogNotWritten(f"{self.path}: {error.strerror}")


def _create(path: Path) -> int:
    try:
        fd = open_user_file(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        sync_directory(path.resolve().parent)
    except FileExistsError:
        raise Refused(f"{path} already exists: name a new file, because every cut needs its own log") from None
    except OSError as error:
        raise Refused(f"cannot create {path}: {error.strerror}. Choose another place for the log") from None
    return fd
