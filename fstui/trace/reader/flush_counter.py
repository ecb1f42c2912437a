"""Program: count for each step of a run how many flushes fstui, kernel threads and other processes requested.

stdin: a line of JSON with "name" (of the trace instance), "own" (pids of fstui), "devices" (kernel names) and "entry"
(the instance's file in the ledger). Then a line {"own": […], "from_ns": …} when a step has begun, and {"until_ns": …}
when it has ended; between them perhaps {"pause": true}, to record nothing more of the step. Times are those of
CLOCK_MONOTONIC. stdout: {"ready": true} or {"error": "…"}, then a line {"devices": […]} for each step. When stdin
closes, the program removes the instance and then its entry.

``remove`` is called by ``fstui.measure.children.call_helper``.
"""

import errno
import json
import os
import select
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from fstui import proc
from fstui.measure.wire.stdio import read_line, say
from fstui.trace.reader.devices import FLUSH_FIRST, FUA, REQUEST_FIELDS, REQUEST_HANDLERS, Requests, request_flags
from fstui.trace.reader.processes import KTHREADD, Lineage, Owner, family
from fstui.trace.reader.program import serve
from fstui.trace.reader.recording import EventRecording, TracedEvent
from fstui.trace.reader.tracefs import MEMORY_DIVISOR, MIB, PREFIX, Instance, TracefsError, find_tracefs

MAX_BEGIN_DELAY_NS = 1_000_000_000
"""Maximum delay between the start of a step and the call of ``begin``. If the buffered events exceed
MAX_BUFFERED_BYTES, events that are older than this are processed at once: they are from before the next step."""
FIRST_READ_DELAY_S = 0.1
"""Time from the start of a step to the first read of the buffers. Most fast steps are paused before."""
MAX_BUFFERED_BYTES = 3 * MIB
LOWEST_PRIORITY = 19
"""Niceness of this process during a step, so that the measurement gets the CPU first."""
MAX_FILTER_DEVICES = 128
"""Maximum number of devices in a filter, because the filter's text must fit into a page."""
FLUSH_FILTER, WRITE_FILTER = 'rwbs ~ "*F*"', '(rwbs ~ "*F*" || rwbs ~ "*W*")'
"""Some other events pass these filters, because the kernel also compares bytes after the end of the string."""
FORK_EVENT, BIO_EVENT = "sched/sched_process_fork", "block/block_bio_queue"
REQUEST_EVENTS = frozenset(REQUEST_HANDLERS)
"""A sync causes four of these events at each device. Together they take about 2 µs. The event block_bio_queue, which
counts the flush, takes 0.6 µs (Linux 6.18 in a virtual machine)."""
EVENTS = frozenset((FORK_EVENT, BIO_EVENT)) | REQUEST_EVENTS
MAX_BYTES_PER_S = 500_000
"""About 8 000 events per second. If a step causes more, fstui counts its flushes but does not record its requests,
because that would slow the step down by up to 15 %."""
MIN_READ_INTERVAL_S, MAX_READ_INTERVAL_S = 0.02, 1.0
TARGET_FILL = 0.125
"""How full a CPU's buffer should be at a read. With a smaller share there are more reads, and each read delays some
operations."""


class TracedDevice(NamedTuple):
    name: str
    number: int
    """The kernel's number: major << 20 | minor."""
    receives_requests: bool
    """False for dm and md, which pass bios on to the devices below them."""


def find_device(name: str) -> TracedDevice | None:
    number = proc.read_text(f"/sys/class/block/{name}/dev")
    if not number:
        return None
    return TracedDevice(name, proc.device_number(number), os.path.isdir(f"/sys/class/block/{name}/mq"))


class DeviceSums:
    """The flushes, FUA writes and requests at one device during a step."""

    def __init__(self, device: TracedDevice) -> None:
        self.device = device
        self.requests = Requests()
        self._flushes: Counter[Owner] = Counter()
        self._fua: Counter[Owner] = Counter()

    def add_bio(self, rwbs: bytes, owner: Owner) -> None:
        flags = request_flags(rwbs)
        self._flushes[owner] += bool(flags & FLUSH_FIRST)
        self._fua[owner] += bool(flags & FUA)

    def as_dict(self, lost_events: int, requests_known: bool) -> dict[str, Any]:
        """Return the counts. If events were lost, each is None. ``requests_known``: all requests were recorded."""
        sums = {
            "asked_by_us": self._flushes["own"],
            "asked_by_kernel_threads": self._flushes["kernel_threads"],
            "asked_by_others": self._flushes["others"],
            "fua_writes": self._fua.total(),
            "fua_writes_by_us": self._fua["own"],
            "requests": self.requests.flushes_issued if requests_known and self.device.receives_requests else None,
            "device_flush_ns": self.requests.flushes.as_dict() if requests_known else None,
            "device_write_ns": self.requests.writes.as_dict() if requests_known else None,
        }
        return {"device": self.device.name, "lost": lost_events, **(dict.fromkeys(sums) if lost_events else sums)}


class FlushCounter(EventRecording):
    """Record the block events of a run, and add them up for each step."""

    def __init__(self, name: str, own_pids: list[int], devices: list[TracedDevice]) -> None:
        """``own_pids``: these processes and their descendants count as fstui's own. Raises TracefsError."""
        self._own_pids, self._devices = own_pids, devices
        self._sums: dict[int, DeviceSums] = {}
        self._step_start_ns: int | None = None
        self._added_until_ns = 0
        self._lost_before = 0
        self._is_incomplete = False
        """Whether events of the step were added up before ``begin`` was called, and so are missing from its counts."""
        self._recorded_events = EVENTS
        self._requests_known = True
        """Whether all requests of the traced part of the step were recorded."""
        self._bytes_before_step = 0
        self._lineage = Lineage()
        self._max_buffered_bytes = min(MAX_BUFFERED_BYTES, proc.meminfo().get("MemAvailable", 0) // MEMORY_DIVISOR)
        super().__init__(name)

    def _enable(self) -> None:
        bio = ("common_pid", "dev", "rwbs", "comm")
        fork, lineage = TracedEvent(FORK_EVENT, ("parent_pid", "child_pid")), self._lineage
        self.handle(fork, lambda _, parent, child: lineage.add_fork(parent, child))
        self.handle(TracedEvent(BIO_EVENT, bio, self._device_filter(FLUSH_FILTER)), self._add_bio)
        write_filter = self._device_filter(WRITE_FILTER)
        for event, add in REQUEST_HANDLERS.items():
            self.handle(TracedEvent(event, REQUEST_FIELDS, write_filter), partial(self._add_request, add))
        self._add_kernel_threads()
        self.add_own(self._own_pids)

    def _add_kernel_threads(self) -> None:
        self._lineage.add("kernel_threads", family([KTHREADD]))

    def _device_filter(self, requests: str) -> str:
        if len(self._devices) > MAX_FILTER_DEVICES:
            return requests
        return f"({' || '.join(f'dev == {device.number}' for device in self._devices)}) && {requests}"

    def _record(self, events: frozenset[str]) -> None:
        for name in events ^ self._recorded_events:
            self.switch_event(name, on=name in events)
        self._recorded_events = events

    def pause(self) -> None:
        """Record nothing more of the step. Even an event that its filter drops delays each sync."""
        self._record(frozenset())

    def add_own(self, pids: list[int]) -> None:
        """Count these processes and their descendants as fstui's own."""
        if not self._lineage.all_own(pids):
            self._lineage.add("own", family(pids))

    def empty_buffers(self) -> None:
        """Empty the kernel's buffers. Stop recording requests if there are many. Add events up if many are buffered."""
        now_ns = self.collect()
        if self._step_start_ns is not None and self._recorded_events:
            os.setpriority(os.PRIO_PROCESS, 0, LOWEST_PRIORITY)
            elapsed_s = (now_ns - self._step_start_ns) / 1e9
            if self.collected_bytes - self._bytes_before_step > MAX_BYTES_PER_S * max(elapsed_s, FIRST_READ_DELAY_S):
                self._requests_known = False
                self._record(self._recorded_events - REQUEST_EVENTS)
        if self._store.bytes > self._max_buffered_bytes:
            self.call_handlers(time.monotonic_ns() - MAX_BEGIN_DELAY_NS)

    def begin(self, from_ns: int) -> None:
        self._sums = {device.number: DeviceSums(device) for device in self._devices}
        self.collect()
        self._step_start_ns, self._bytes_before_step = from_ns, self.collected_bytes
        self._is_incomplete = from_ns < self._added_until_ns

    def end(self, until_ns: int) -> list[dict[str, Any]]:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        self.collect()
        self.call_handlers(until_ns)
        lost_events = self.lost()
        missing = lost_events - self._lost_before + self._is_incomplete
        self._lost_before, self._step_start_ns = lost_events, None
        requests_known, self._requests_known = self._requests_known, True
        if not self._recorded_events:
            self._add_kernel_threads()  # those that started during the pause
        self._record(EVENTS)
        return [sums.as_dict(missing, requests_known) for sums in self._sums.values()]

    def call_handlers(self, until_ns: int) -> None:
        super().call_handlers(until_ns)
        self._added_until_ns = until_ns

    def _add_bio(self, time_ns: int, thread: int, device: int, rwbs: bytes, comm: bytes) -> None:
        if self._is_in_step(time_ns, device):
            self._sums[device].add_bio(rwbs, self._lineage.owner(thread, comm))

    def _add_request(self, add: Callable[..., None], time_ns: int, device: int, sector: int, rwbs: bytes) -> None:
        if self._is_in_step(time_ns, device):
            add(self._sums[device].requests, time_ns, sector, rwbs)

    def _is_in_step(self, time_ns: int, device: int) -> bool:
        return self._step_start_ns is not None and time_ns >= self._step_start_ns and device in self._sums


def create_counter(settings: dict[str, Any]) -> FlushCounter:
    devices = [device for device in map(find_device, settings["devices"]) if device]
    return FlushCounter(PREFIX + settings["name"], settings["own"], devices)


def run(counter: FlushCounter) -> None:
    """Read the buffers soon after the start of a step, and later about whenever they reach TARGET_FILL."""
    say(ready=True)
    interval_s = MAX_READ_INTERVAL_S
    while True:
        if select.select([0], [], [], interval_s)[0]:
            line = read_line()
            if not line:
                return
            request = json.loads(line)
            if "from_ns" in request:
                counter.add_own(request["own"])
                counter.begin(request["from_ns"])
                interval_s = FIRST_READ_DELAY_S
                continue
            if "pause" in request:
                counter.pause()
            else:
                say(devices=counter.end(request["until_ns"]))
        counter.empty_buffers()
        target_s = interval_s * TARGET_FILL / counter.max_fill if counter.max_fill else MAX_READ_INTERVAL_S
        interval_s = min(MAX_READ_INTERVAL_S, max(MIN_READ_INTERVAL_S, target_s))


def remove(name: str) -> None:
    """Remove the instances of a run that was killed. Their names are ``name`` or ``name``-SUFFIX. Raises OSError."""
    try:
        root = find_tracefs()
        for instance in os.listdir(f"{root}/instances"):
            if instance == name or instance.startswith(f"{name}-"):
                _remove_unless_gone(Instance(root, instance))
    except TracefsError as problem:
        raise OSError(None, str(problem)) from None
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(error.errno, "another process uses it") from None
        raise


def _remove_unless_gone(instance: Instance) -> None:
    try:
        instance.remove()
    except OSError as error:  # ENODEV: the reader of that run, which ends just now, is removing its instance
        if error.errno not in {errno.ENOENT, errno.ENODEV}:
            raise


if __name__ == "__main__":
    serve(create_counter, run)
