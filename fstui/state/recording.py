"""Read the recording of ``fstui record``."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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
    damaged: int = 0
    """Lines that could not be read."""


def directory() -> Path:
    """Return the directory into which this user records. Raises Refused."""
    return paths.state_dir() / ring.DIRECTORY


def read(start: float | None = None, end: float | None = None) -> Recording:
    """Read the records between two times, and the headers. Of two recordings, read the one that was written last.

    Raises Refused, OSError.
    """
    places = [place for place in (directory(), SYSTEM) if place.is_dir() and ring.files(place)]
    place = max(places, key=lambda one: ring.files(one)[-1].stat().st_mtime, default=directory())
    records: list[Record] = []
    damaged = 0
    for path in ring.files(place):
        for data in ring.objects(path):
            try:
                record = _DECODER.decode(data) if data else None
            except msgspec.MsgspecError:
                record = None
            if record is None:
                damaged += 1
            elif isinstance(record, Header) or (start or 0.0) <= record.at <= (end or record.at):
                records.append(record)
    return Recording(place, records, damaged)
