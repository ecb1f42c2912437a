"""Pages of all CPUs' buffers, and their events in the order of time.

Reading a page costs little, making events of it a microsecond each. So pages are kept as they are until somebody asks
for their events.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from operator import itemgetter

from fstui.trace.reader import pages
from fstui.trace.reader.formats import PageLayout

AT_ONCE = 256
"""So many pages are made into events at a time: a page of 4 KiB becomes 20."""
TIME = itemgetter(0)


class Kept:
    """What was read and is not told yet."""

    def __init__(self, layout: PageLayout, readers: Mapping[int, pages.Reader]) -> None:
        self.bytes = 0
        self.garbled = 0
        """Pages that could not be read."""
        self._layout, self._readers = layout, readers
        self._pages: list[bytes] = []
        self._later: list[pages.Event] = []

    def add(self, page: bytes) -> int:
        """A page without what lies behind its data; how much that is."""
        data = page[: pages.data_end(page, self._layout)]
        self._pages.append(data)
        self.bytes += len(data)
        return len(data)

    def events(self, until_ns: int) -> Iterator[pages.Event]:
        """What happened up to a time, in the order of time over all CPUs. Later events are told later."""
        kept = sorted(self._pages, key=pages.time_of)
        behind = bisect_right(kept, until_ns, key=pages.time_of)
        due, self._pages = kept[:behind], kept[behind:]
        self.bytes = sum(map(len, self._pages))
        for first in range(0, max(1, len(due)), AT_ONCE):
            following = due[first + AT_ONCE : first + AT_ONCE + 1]
            horizon = min(until_ns, *map(pages.time_of, following)) if following else until_ns
            yield from self._events_of(due[first : first + AT_ONCE], horizon)

    def _events_of(self, some: list[bytes], until_ns: int) -> list[pages.Event]:
        found, self._later = self._later, []
        for page in some:
            try:
                found += pages.events(page, self._layout, self._readers)
            except pages.Garbled:
                self.garbled += 1
        found.sort(key=TIME)
        first = bisect_right(found, until_ns, key=TIME)
        self._later = found[first:]
        return found[:first]
