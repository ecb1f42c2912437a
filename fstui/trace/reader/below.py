"""What block devices do while programs wait: what the kernel counts, and requests of all or a part of the time."""

from __future__ import annotations

import os
from typing import NamedTuple

from fstui.trace.reader.flushes import Requests
from fstui.trace.reader.recording import Recording, Wanted

SECTOR = 512
EVENTS_PER_S = 8000
"""So many events of requests are read in a second; where there are more, a part of each second is looked at."""
LEAST_SHARE = 0.02
REQUESTS = 'rwbs ~ "*F*" || rwbs ~ "*WS*"'
"""Flushes, FUA and writes that somebody waits for."""


class Counted(NamedTuple):
    """What /proc/diskstats counts of one device since it was made (Documentation/admin-guide/iostats.rst)."""

    writes: int
    written_bytes: int
    write_ms: int
    flushes: int
    flush_ms: int

    def since(self, before: Counted) -> Counted:
        """The difference."""
        return Counted(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, others: Counted) -> Counted:
        """The sum."""
        return Counted(*(one + other for one, other in zip(self, others, strict=True)))


def counted() -> dict[str, Counted]:
    """Every whole disk that makes requests. The others (dm, md, partitions) do not count flushes."""
    found = {}
    with open("/proc/diskstats", encoding="ascii", errors="replace") as file:
        for line in file:
            words = line.split()
            if len(words) >= 20 and os.path.isdir(f"/sys/block/{words[2]}/mq"):
                numbers = list(map(int, words[3:20]))
                found[words[2]] = Counted(numbers[4], numbers[6] * SECTOR, numbers[7], numbers[15], numbers[16])
    return found


class Below:
    """The devices' requests, recorded in an instance that can be switched off for a while."""

    def __init__(self, name: str) -> None:
        """Raises Untraceable."""
        self.share = 1.0
        """Of the time in which requests are looked at."""
        self._requests: dict[int, Requests] = {}
        self._seen = 0
        self._recording = Recording(name)
        try:
            fields = ("dev", "sector", "rwbs")
            self._issue = self._recording.enable(Wanted("block/block_rq_issue", fields, REQUESTS))
            self._recording.enable(Wanted("block/block_rq_complete", fields, REQUESTS))
        except BaseException:
            self._recording.remove()
            raise

    def switch(self, on: bool) -> None:
        """Look, or do not."""
        self._recording.instance.write("tracing_on", str(int(on)))
        if not on:
            self.look()
            for requests in self._requests.values():
                requests.forget()

    def look(self) -> None:
        """Read what was recorded so far."""
        until_ns = self._recording.collect()
        for time_ns, number, (device, sector, rwbs) in self._recording.events(until_ns):
            requests = self._requests.setdefault(device, Requests())
            (requests.issued if number == self._issue else requests.completed)(time_ns, sector, rwbs)
            self._seen += 1

    def take(self, seconds: float) -> dict[int, Requests]:
        """What was seen in that time; how much of the next is looked at follows from how much it was."""
        self.look()
        per_s = self._seen / (self.share * seconds)
        self.share = max(LEAST_SHARE, min(1.0, EVENTS_PER_S / per_s)) if per_s else 1.0
        self._seen = 0
        return {device: requests.take() for device, requests in self._requests.items()}

    def lost(self) -> int:
        return self._recording.lost()

    def remove(self) -> None:
        self._recording.remove()
