"""Read the recording of ``fstui record``."""

import json
import os
from contextlib import suppress
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from fstui.model.recording import Header, Record
from fstui.state import paths, ring

SYSTEM_DIRECTORY = Path("/var/lib/fstui") / ring.DIRECTORY
"""The directory of the systemd unit's recording."""
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Recording(NamedTuple):
    """Records in the order in which they were taken."""

    directory: Path
    records: list[Record]
    extent: tuple[float, float] | None = None
    """The times of the first and the last record on disk, even if ``records`` does not contain them."""


def directory() -> Path:
    """Return the directory of this user's recording. Raises Refused."""
    return paths.state_dir() / ring.DIRECTORY


def read(start: float = 0.0, end: float = inf) -> Recording:
    """Read the records between two times, and all headers in the same files. If both this user and the systemd unit
    have a recording, read the one with the newest file.

    Raises Refused, OSError.
    """
    candidates = [directory(), SYSTEM_DIRECTORY]
    readable = [path for path in candidates if os.access(path, os.R_OK | os.X_OK) and ring.files(path)]
    newest = max(readable, key=lambda path: ring.start_time_s(ring.files(path)[-1]), default=directory())
    files = ring.files(newest)
    records: list[Record] = []
    last_s = 0.0
    for path in _overlapping_files(files, start, end):
        for line in ring.lines(path):
            if record := _decode(line):
                last_s = record.at
                if isinstance(record, Header) or start <= record.at <= end:
                    records.append(record)
    return Recording(newest, records, (ring.start_time_s(files[0]), last_s) if files else None)


def _overlapping_files(files: list[Path], start: float, end: float) -> list[Path]:
    """Return the files that may contain records of the period, and always the last file, which shows when the recording
    ends. A file covers the time until the next file begins."""
    periods = map(sorted, pairwise([*map(ring.start_time_s, files), inf]))  # sorted: the clock may have been set back
    matches = [path for path, (begin, finish) in zip(files, periods, strict=True) if begin <= end and finish >= start]
    return matches if matches[-1:] == files[-1:] else [*matches, files[-1]]


def _decode(line: bytes) -> Record | None:
    with suppress(msgspec.MsgspecError):
        return _DECODER.decode(line)
    with suppress(msgspec.MsgspecError, ValueError):  # a name that is not UTF-8 contains lone surrogates
        return cast(Record, msgspec.convert(json.loads(line), Record, strict=False))
    return None
