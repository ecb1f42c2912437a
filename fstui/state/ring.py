"""The recording on disk: a ring of files with one record per line.

A record is the CRC-32 of a JSON object in hexadecimal, a space, and the object. Each file is a gzip stream that is
flushed after every record. If the recorder is killed or the power is cut, only the last records of one file are
lost. When all files together are larger than the limit, the oldest files are removed. This module imports only the
standard library, so that the child that writes the ring starts fast and needs little memory.
"""

import contextlib
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MIB = 1 << 20
DIRECTORY = "recording"
MAX_BYTES = 24 * MIB
MIN_BYTES = MIB
MIN_FILES = 32
"""A full ring has at least this many files, so that removing a file loses only a small part of the recording."""
MAX_FILE_AGE_S = 600.0
MIN_FREE_BYTES = 64 * MIB
"""If less space than this is free, no record is written, because other programs may need the space."""
READ_BYTES = 512
"""Bytes to read from a file at once. If one is damaged, the records in them and in the rest of the file are lost."""
_NAME = re.compile(r"(\d{8})-(\d+)\.gz")
"""The number of a file, and the time of its first record in seconds since 1970."""


class Ring:
    """Writes records without syncing, so a power cut loses about the last half minute of the recording."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES) -> None:
        self.dropped_records = 0
        """How many records in a row could not be written."""
        self.trouble = ""
        """Why the last record was dropped."""
        self._directory, self._max_bytes = directory, max_bytes
        self._fd = -1
        self._bytes, self._began_s = 0, 0.0
        self._stream = zlib.compressobj(wbits=31)

    def write(self, record: dict[str, Any]) -> None:
        """Append a record. If it cannot be written, drop it and remove the oldest file."""
        if self._bytes >= self._max_bytes // MIN_FILES or time.monotonic() - self._began_s >= MAX_FILE_AGE_S:
            self.close()
        if self.dropped_records:
            record = {**record, "dropped": self.dropped_records, "trouble": self.trouble}
        try:
            self._append(record)
        except OSError as error:
            self.dropped_records += 1
            self.trouble = error.strerror or str(error)
            self.close()
            with contextlib.suppress(OSError):
                self._remove_oldest()
        else:
            self.dropped_records = 0

    def _append(self, record: dict[str, Any]) -> None:
        if free_bytes(self._directory) < MIN_FREE_BYTES:
            raise OSError(None, f"less than {MIN_FREE_BYTES // MIB} MiB is free")
        if self._fd < 0:
            self._open(record["at"])
        text = json.dumps(record, separators=(",", ":")).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        data = self._stream.compress(line) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        while data:  # write(2) may write only a part before the disk is full
            written_bytes = os.write(self._fd, data)
            self._bytes += written_bytes
            data = data[written_bytes:]

    def _open(self, start_s: float) -> None:
        """Begin a file. First remove the oldest files until there is space for the new one."""
        existing = files(self._directory)
        number = int(existing[-1].name[:8]) + 1 if existing else 1
        # leave space for two files, because the new file may become a little larger than its share
        while sum(path.stat().st_size for path in files(self._directory)) > self._max_bytes * (1 - 2 / MIN_FILES):
            self._remove_oldest()
        path = self._directory / f"{number:08}-{int(start_s)}.gz"
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._stream = zlib.compressobj(wbits=31)
        self._began_s = time.monotonic()

    def close(self) -> None:
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.write(self._fd, self._stream.flush())
            os.close(self._fd)
            self._fd, self._bytes = -1, 0

    def _remove_oldest(self) -> None:
        for path in files(self._directory)[:1]:
            path.unlink(missing_ok=True)


def free_bytes(directory: Path) -> int:
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.gz") if _NAME.fullmatch(path.name))


def start_time_s(path: Path) -> float:
    match = _NAME.fullmatch(path.name)
    return float(match[2]) if match else 0.0


def lines(path: Path) -> Iterator[bytes]:
    """Yield the records of a file up to the first damaged one. Yield none if the file was removed."""
    stream, incomplete = zlib.decompressobj(wbits=31), b""
    with contextlib.suppress(OSError, zlib.error), path.open("rb") as file:
        while data := file.read(READ_BYTES):
            *complete_lines, incomplete = (incomplete + stream.decompress(data)).split(b"\n")
            for line in complete_lines:
                checksum, _, text = line.partition(b" ")
                if checksum != b"%08x" % zlib.crc32(text):
                    return
                yield text
