"""The block events of a run's devices, summed over stretches of time."""

from __future__ import annotations

import os
import time
from typing import Any

from fstui.trace.reader.flushes import Device, DeviceSums
from fstui.trace.reader.lineage import KTHREADD, Lineage, family, in_outermost_namespace
from fstui.trace.reader.namespaces import outermost_numbers
from fstui.trace.reader.pages import Event
from fstui.trace.reader.recording import Recording, Wanted
from fstui.trace.reader.tracefs import MIB, SHARE_OF_MEMORY, available_bytes

LATE_NS = 1_000_000_000
"""Where much is kept, what happened this long ago is summed without being asked: we are told of a stretch sooner."""
MOST_KEPT_BYTES = 32 * MIB
NICE = 19
"""While a stretch lasts: what is measured goes first."""
MOST_FILTERED = 128
"""Devices that a filter can name: it must fit into a page."""
FLUSHES, WRITES = 'rwbs ~ "*F*"', '(rwbs ~ "*F*" || rwbs ~ "*W*")'
"""The kernel looks for these also behind the string's end, so some other events come through."""


def device_of(name: str) -> Device | None:
    """A block device by its kernel name; None where it is gone."""
    try:
        with open(f"/sys/class/block/{name}/dev", encoding="ascii") as file:
            major, minor = map(int, file.read().split(":"))
    except (OSError, ValueError):
        return None
    return Device(name, major << 20 | minor, os.path.isdir(f"/sys/class/block/{name}/mq"))


def filtered(kinds: str, devices: list[Device]) -> str:
    """A filter for events of these devices, or of all where they are too many."""
    if len(devices) > MOST_FILTERED:
        return kinds
    return f"{kinds} && ({' || '.join(f'dev == {device.number}' for device in devices)})"


class Witness:
    """Records from its making to its removal; each stretch of time is summed apart."""

    def __init__(self, name: str, ours: list[int], devices: list[Device]) -> None:
        """``ours``: processes whose flushes are ours, with all that they start. Raises Untraceable."""
        self._name = name
        self._devices = devices
        self._sums: dict[int, DeviceSums] = {}
        self._from_ns: int | None = None
        self._summed_to_ns = 0
        self._lost_before = 0
        self._missed = 0
        self._lineage = Lineage()
        self._outermost = in_outermost_namespace()
        self._most_kept = min(MOST_KEPT_BYTES, available_bytes() // SHARE_OF_MEMORY)
        self.recording = Recording(name)
        try:
            self._enable()
            if self._outermost:
                self._lineage.add("kernel_threads", family([KTHREADD]))
            self.know(ours)
        except BaseException:
            self.recording.remove()
            raise

    def _enable(self) -> None:
        enable, devices = self.recording.enable, self._devices
        bio, request = ("common_pid", "dev", "rwbs", "comm"), ("dev", "sector", "rwbs")
        self._fork = enable(Wanted("sched/sched_process_fork", ("parent_pid", "child_pid")))
        self._queued = enable(Wanted("block/block_bio_queue", bio, filtered(FLUSHES, devices)))
        self._issued = enable(Wanted("block/block_rq_issue", request, filtered(WRITES, devices)))
        enable(Wanted("block/block_rq_complete", request, filtered(WRITES, devices)))

    def know(self, ours: list[int]) -> None:
        """These are ours, too. Raises Untraceable."""
        if self._lineage.knows(ours):
            return
        if self._outermost:
            self._lineage.add("us", family(ours))
        else:
            self._lineage.add("us", outermost_numbers(f"{self._name}-numbers", family(ours)))

    def look(self) -> None:
        """Empty the kernel's buffers; sum up where much is kept."""
        self.recording.collect()
        if self.recording.kept_bytes > self._most_kept:
            self._sum_up(time.monotonic_ns() - LATE_NS)

    def begin(self, from_ns: int) -> None:
        """A stretch began."""
        self._sums = {device.number: DeviceSums(device) for device in self._devices}
        os.setpriority(os.PRIO_PROCESS, 0, NICE)
        self._from_ns = from_ns
        self._missed = int(from_ns < self._summed_to_ns)

    def end(self, until_ns: int) -> list[dict[str, Any]]:
        """The stretch ended: what each device was asked and did in it."""
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        self.recording.collect()
        self._sum_up(until_ns)
        lost = self.recording.lost()
        missed = lost - self._lost_before + self._missed
        self._lost_before, self._from_ns = lost, None
        return [sums.told(missed, self._outermost) for sums in self._sums.values()]

    def _sum_up(self, until_ns: int) -> None:
        for event in self.recording.events(until_ns):
            self._note(event)
        self._summed_to_ns = until_ns

    def _note(self, event: Event) -> None:
        time_ns, number, fields = event
        if number == self._fork:
            self._lineage.forked(*fields)
        elif self._from_ns is None or time_ns < self._from_ns:
            return
        elif number == self._queued:
            thread, device, rwbs, comm = fields
            if device in self._sums:
                self._sums[device].queued(rwbs, self._lineage.asker(thread, comm))
        else:
            device, sector, rwbs = fields
            if device in self._sums:
                requests = self._sums[device].requests
                (requests.issued if number == self._issued else requests.completed)(time_ns, sector, rwbs)
