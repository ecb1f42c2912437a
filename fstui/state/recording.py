"""Read the recording of ``fstui record``."""

from __future__ import annotations

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

SYSTEM = Path("/var/lib/fstui") / ring.DIRECTORY
"""Where the systemd unit keeps the recording."""
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Recording(NamedTuple):
    """Records in the order in which they were taken."""

    directory: Path
    records: list[Record]
    extent: tuple[float, float] | None = None
    """The times of the first and the last record, also of those that were not read."""


def directory() -> Path:
    """Return the directory into which this user records. Raises Refused."""
    return paths.state_dir() / ring.DIRECTORY


def read(start: float = 0.0, end: float = inf) -> Recording:
    """Read the records between two times, and all headers of the files in which they are. If this user and the systemd
    unit have a recording, read the one whose newest file began last.

    Raises Refused, OSError.
    """
    places = [place for place in (directory(), SYSTEM) if os.access(place, os.R_OK | os.X_OK) and ring.files(place)]
    place = max(places, key=lambda one: ring.began(ring.files(one)[-1]), default=directory())
    files = ring.files(place)
    records: list[Record] = []
    last = 0.0
    for path in _overlapping(files, start, end):
        for line in ring.lines(path):
            if record := _decoded(line):
                last = record.at
                if isinstance(record, Header) or start <= record.at <= end:
                    records.append(record)
    return Recording(place, records, (ring.began(files[0]), last) if files else None)


def _overlapping(files: list[Path], start: float, end: float) -> list[Path]:
    """Return the files that may have records of the period, and always the last file, which shows the end of the
    recording. A file covers the time until the next file begins."""
    ends = map(sorted, pairwise([*map(ring.began, files), inf]))  # sorted: the clock may have been set back
    kept = [path for path, (first, last) in zip(files, ends, strict=True) if first <= end and last >= start]
    return kept if kept[-1:] == files[-1:] else [*kept, files[-1]]


def _decoded(line: bytes) -> Record | None:
    with suppress(msgspec.MsgspecError):
        return _DECODER.decode(line)
    with suppress(msgspec.MsgspecError, ValueError):  # a name that is not UTF-8 is a lone surrogate
        return cast(Record, msgspec.convert(json.loads(line), Record, strict=False))
    return None
