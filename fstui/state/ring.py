"""The recording on disk: a ring of files with one record per line. Standard library only, because a child writes it.

A line is the CRC-32 of a JSON object in hexadecimal, a space, and the object. A recorder that is killed, or a power
cut, costs only records that were not complete; they are skipped. A finished file is compressed. When all files together
are larger than the limit, the oldest ones are removed.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
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
"""Less free space than this is left to others."""
_PLAIN, _COMPRESSED = ".log", ".log.gz"


class Ring:
    """Writes records. It never syncs: a power cut costs the records of the last half minute."""

    def __init__(self, directory: Path, max_bytes: int = MAX_BYTES) -> None:
        self.dropped = 0
        """Records that could not be written since the last one that was."""
        self.trouble = ""
        self._directory, self._max_bytes = directory, max_bytes
        self._file_bytes = max_bytes // PARTS
        self._fd = -1
        self._bytes, self._began_s = 0, 0.0
        self._checked_s = -FILE_S
        self._room = True
        for path in files(directory):  # a power cut may have left a copy without its content
            if path.suffix == _PLAIN:
                copy_of(path).unlink(missing_ok=True)
        self.close()

    def write(self, record: dict[str, Any]) -> None:
        """Append a record. If the disk is full, remove the oldest files; without any left, drop the record."""
        now_s = time.monotonic()
        if self._fd >= 0 and (self._bytes >= self._file_bytes or now_s - self._began_s >= FILE_S):
            self.close()
        if now_s - self._checked_s >= 10:
            self._checked_s, self._room = now_s, self._make_room()
        if self.dropped:
            record = {**record, "dropped": self.dropped, "trouble": self.trouble}
        line = encode(record)
        while True:
            try:
                self._append(line)
            except OSError as error:
                self.trouble = error.strerror or str(error)
                if not self._remove_oldest():
                    self.dropped += 1
                    return
            else:
                self.dropped = 0
                return

    def _append(self, line: bytes) -> None:
        if not self._room:
            raise OSError(None, f"less than {FREE_BYTES // MIB} MiB are free")
        if self._fd < 0:
            number = max((int(path.name[:8]) for path in files(self._directory)), default=0) + 1
            path = self._directory / f"{number:08}{_PLAIN}"
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._bytes, self._began_s = 0, time.monotonic()
        if os.write(self._fd, line) < len(line):
            os.ftruncate(self._fd, self._bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._bytes += len(line)

    def close(self) -> None:
        """Finish the file that is written, compress the finished files and remove the oldest ones.

        A file is removed long after its copy was made, so that its content is on disk without a sync.
        """
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        for path in files(self._directory):
            if path.suffix == _PLAIN:
                with contextlib.suppress(OSError):
                    path.unlink() if copy_of(path).exists() else compress(path)
        limit = self._max_bytes - 2 * self._file_bytes  # the next file, and its compressed copy next to it
        while self._size() > limit and self._remove_oldest():
            pass

    def _size(self) -> int:
        return sum(path.stat().st_size for path in self._directory.glob(f"*{_PLAIN}*"))

    def _make_room(self) -> bool:
        """Remove the oldest files while the filesystem is nearly full. Return whether there is room."""
        while free_bytes(self._directory) < FREE_BYTES:
            if not self._remove_oldest():
                return False
        return True

    def _remove_oldest(self) -> bool:
        """Remove the oldest file, unless it is the one that is written."""
        found = files(self._directory)
        if self._fd >= 0:
            found = found[:-1]
        for path in found[:1]:
            with contextlib.suppress(OSError):
                copy_of(path).unlink(missing_ok=True)
                path.unlink(missing_ok=True)
                return True
        return False


def free_bytes(directory: Path) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def encode(record: dict[str, Any]) -> bytes:
    data = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(data), data)


def decode(line: bytes) -> bytes | None:
    """Return the JSON object of a line, or None if it is damaged."""
    crc, _, data = line.rstrip(b"\n").partition(b" ")
    return data if crc == b"%08x" % zlib.crc32(data) else None


def files(directory: Path) -> list[Path]:
    """Return the files of the ring, the oldest first. A file is preferred to its compressed copy."""
    found: dict[str, Path] = {}
    for path in sorted(directory.glob(f"*{_PLAIN}*"), reverse=True):
        if path.suffix in (_PLAIN, ".gz") and path.name[:8].isdigit():
            found[path.name[:8]] = path
    return [found[number] for number in sorted(found)]


def copy_of(path: Path) -> Path:
    """Return the place of the compressed copy of a file."""
    return path if path.suffix == ".gz" else path.with_name(f"{path.name}.gz")


def compress(path: Path) -> None:
    """Make the compressed copy of a file. Raises OSError."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        temporary.touch(0o600)
        temporary.write_bytes(gzip.compress(path.read_bytes(), 6))
        temporary.replace(copy_of(path))
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def objects(path: Path) -> Iterator[bytes | None]:
    """Yield the JSON objects of a file, and None for each damaged line. A file that was removed has none."""
    try:
        with gzip.open(path) if path.name.endswith(_COMPRESSED) else path.open("rb") as file:
            yield from map(decode, file)
    except FileNotFoundError:
        return
    except (OSError, EOFError, zlib.error):
        yield None
