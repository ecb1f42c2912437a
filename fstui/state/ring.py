"""The recording on disk: a ring of files with one record per line. Standard library only, because a child writes it.

A record is the CRC-32 of a JSON object in hexadecimal, a space, and the object. Each file is a gzip stream that is
flushed after every record. So if the recorder is killed or the power is cut, only the last records of one file are
lost. When all files together are larger than the limit, the oldest files are removed.
"""

from __future__ import annotations

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
PARTS = 32
"""The ring has at least this many files, so that removing one loses a small part of it."""
FILE_S = 600.0
FREE_BYTES = 64 * MIB
"""If less space than this is free, no record is written, so that other programs can use it."""
READ_BYTES = 512
"""A file is read in pieces of this size. If a piece is damaged, the whole piece and the rest of the file are lost."""
_NAME = re.compile(r"(\d{8})-(\d+)\.gz")
"""The number of a file, and when its first record was taken, in seconds since 1970."""


class Ring:
    """Writes records. It never syncs: a power cut costs the records of the last half minute."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES) -> None:
        self.dropped = 0
        """Records that could not be written since the last record that was written."""
        self.trouble = ""
        self._directory, self._max_bytes = directory, max_bytes
        self._fd = -1
        self._bytes, self._began_s = 0, 0.0
        self._stream = zlib.compressobj(wbits=31)

    def write(self, record: dict[str, Any]) -> None:
        """Append a record. If the disk is full, drop the record and remove the oldest file."""
        if self._bytes >= self._max_bytes // PARTS or time.monotonic() - self._began_s >= FILE_S:
            self.close()
        if self.dropped:
            record = {**record, "dropped": self.dropped, "trouble": self.trouble}
        try:
            self._append(record)
        except OSError as error:
            self.dropped += 1
            self.trouble = error.strerror or str(error)
            self.close()
            with contextlib.suppress(OSError):
                self._remove_oldest()
        else:
            self.dropped = 0

    def _append(self, record: dict[str, Any]) -> None:
        if free_bytes(self._directory) < FREE_BYTES:
            raise OSError(None, f"less than {FREE_BYTES // MIB} MiB are free")
        if self._fd < 0:
            self._open(record["at"])
        text = json.dumps(record, separators=(",", ":")).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        data = self._stream.compress(line) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        while data:  # write(2) may write only a part before the disk is full
            written = os.write(self._fd, data)
            self._bytes += written
            data = data[written:]

    def _open(self, at: float) -> None:
        """Begin a file. Remove the oldest files first, until there is room for the new one."""
        found = files(self._directory)
        number = int(found[-1].name[:8]) + 1 if found else 1
        # two parts: one for the new file, which may become a little larger than a part
        while sum(path.stat().st_size for path in files(self._directory)) > self._max_bytes * (1 - 2 / PARTS):
            self._remove_oldest()
        path = self._directory / f"{number:08}-{int(at)}.gz"
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
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.gz") if _NAME.fullmatch(path.name))


def began(path: Path) -> float:
    found = _NAME.fullmatch(path.name)
    return float(found[2]) if found else 0.0


def lines(path: Path) -> Iterator[bytes]:
    """Yield the records of a file up to its end, or up to the first damaged place. A file that was removed has none."""
    stream, rest = zlib.decompressobj(wbits=31), b""
    with contextlib.suppress(OSError, zlib.error), path.open("rb") as file:
        while data := file.read(READ_BYTES):
            *whole, rest = (rest + stream.decompress(data)).split(b"\n")
            for line in whole:
                checksum, _, text = line.partition(b" ")
                if checksum != b"%08x" % zlib.crc32(text):
                    return
                yield text
