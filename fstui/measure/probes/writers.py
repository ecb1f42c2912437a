"""The writers of a probe: one process each, so that no writer waits for the interpreter lock of another.

The first process is the coordinator. It creates the file, forks the writers, passes ``go`` and ``stop`` on to them, and
reports the system call that blocks a writer. When stdin closes, the coordinator removes the file. Each probe has a
subclass of WriteLoop.

Settings: those of the step, ``directory`` and its ``identity`` (the run's directory, which the probe enters), ``path``
(the file to create in it) and ``facts`` (whether to examine the sync path of this process first).
"""

import gc
import mmap
import os
import signal
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, NoReturn

from fstui.measure.probes import sync_path
from fstui.measure.probes.files import create_file, offsets, remove
from fstui.measure.probes.sync_path import open_in_proc, read_text
from fstui.measure.wire import frames
from fstui.measure.wire.stdio import (
    CallError,
    CommandLines,
    checked_call,
    clock,
    run_probe,
    send,
    send_failure,
    write_frame,
)
from fstui.proc import ON_FROZEN

POLL_INTERVAL_NS = 125_000_000
"""Time between two checks of the stop flag and of the waits for a CPU. A divisor of SEND_INTERVAL_NS."""
SEND_INTERVAL_NS = 250_000_000
"""Time after which pending samples are sent. Sending wakes the engine, which may delay the next operation."""
FIRST_POLL_INTERVAL_NS = 50_000_000
"""Time between two checks before the first samples are sent."""
MAX_PENDING_FRAMES = 128
"""Maximum number of unsent frames of all writers together: half of the capacity of the pipe."""
SLOW_STEP_OPS = 50
SLOW_STEP_EXTRA_NS = 5_000_000_000
"""A step with fewer than SLOW_STEP_OPS operations may run this much longer than planned."""
SETTLE_S = 0.1
"""Time between the start of the writers and the first operation. Without this pause, an operation of 75 µs on a loop
device in memory took 9 to 14 µs longer, in a C program too (Linux 6.18, 2 CPUs). Probable cause: the scheduler takes a
new process for a busy one, and then separates it from the kernel threads that serve the device."""
WATCH_INTERVAL_S = 0.5
"""Time between two checks of the coordinator. Each can delay the next operation."""
WATCH_INTERVAL_OF_SILENT_S = 0.1
"""Time between two checks while an operation of a writer does not return."""
BLOCKED_NS = 500_000_000
"""If the last check of a writer was longer ago, the system call that blocks the writer is reported."""
STARTED, ENDED, DELAYED, LAST_CHECK, CPU_WAIT, LONGEST_CPU_WAIT, CPU_PRESSURE, LONGEST_CPU_PRESSURE = range(8)
STOLEN, STOPPED, FROZEN = range(8, 11)
"""Offsets into a writer's shared slots, all in ns: start, end, delay by a full pipe, time of the last check, all waits
for a CPU, the longest wait, the same for the CPU pressure of the host, the CPU time that the hypervisor stole, and two
times that the coordinator measures: how long a signal (SIGSTOP) or a debugger stopped the writer, and how long a write
waited for a frozen filesystem."""
SLOTS_PER_WRITER = 1 + FROZEN
UNKNOWN = -1
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STEAL_FIELD = 8
Batch = Callable[[int, int], int]
"""A function that does some operations: (until_ns, remaining_ops) → the end of the last operation."""


class KernelTime:
    """A time that the kernel adds up in a file of /proc, since the creation of this object."""

    def __init__(self, file: str, parse_ns: Callable[[bytes], int]) -> None:
        # keep the file open: opening it takes ten times as long as reading it, and would delay the next operation
        self._fd = open_in_proc(file)
        self._parse_ns = parse_ns
        self._first_ns = self._latest_ns = self._read_ns()
        self.longest_ns = UNKNOWN if self._first_ns == UNKNOWN else 0
        """The longest time between two calls of ``update``. A stall is explained by one long wait, not by their sum."""

    def update(self) -> None:
        now_ns = self._read_ns()
        if UNKNOWN not in (now_ns, self._latest_ns):
            self.longest_ns = max(self.longest_ns, now_ns - self._latest_ns)
        self._latest_ns = now_ns

    def total_ns(self) -> int:
        self.update()
        return UNKNOWN if UNKNOWN in (self._latest_ns, self._first_ns) else self._latest_ns - self._first_ns

    def _read_ns(self) -> int:
        if self._fd is None:
            return UNKNOWN
        try:
            return self._parse_ns(os.pread(self._fd, 256, 0))
        except (OSError, ValueError, IndexError):  # the kernel has the file, but does not count this time
            return UNKNOWN


class Starvation:
    """The time in which this process, or some process of the host, was ready to run but had no CPU.

    This makes an operation slow on any storage: a sync also waits for kernel threads. The second field of
    /proc/self/schedstat is the time on a run queue, including throttling by a CPU quota
    (Documentation/scheduler/sched-stats.rst). The first total in /proc/pressure/cpu is the time in which at least one
    process of the host waited (Documentation/accounting/psi.rst). The eighth field of a CPU in /proc/stat is the time
    in which the hypervisor ran something else (proc_stat(5)).
    """

    def __init__(self) -> None:
        self.waits = KernelTime("self/schedstat", lambda data: int(data.split()[1]))
        self.pressure = KernelTime("pressure/cpu", lambda data: int(data.partition(b"total=")[2].split()[0]) * 1000)
        self._stolen_ns = stolen_ns_by_cpu()

    def update(self) -> None:
        self.waits.update()
        self.pressure.update()

    def stolen_ns(self) -> int:
        """Return the time that the hypervisor stole from the CPU that lost most."""
        pairs = zip(stolen_ns_by_cpu(), self._stolen_ns, strict=False)
        return max((after_ns - before_ns for after_ns, before_ns in pairs), default=UNKNOWN)


def stolen_ns_by_cpu() -> list[int]:
    rows = (line.split() for line in read_text("stat").splitlines()[1:] if line.startswith("cpu"))
    return [int(row[_STEAL_FIELD]) * _TICK_NS for row in rows if len(row) > _STEAL_FIELD]


class Shared:
    """Memory that coordinator and writers share: a stop flag, and the slots of each writer."""

    def __init__(self, writers: int) -> None:
        self.slots = memoryview(mmap.mmap(-1, 8 * (1 + SLOTS_PER_WRITER * writers))).cast("q")

    @property
    def stop_requested(self) -> bool:
        return bool(self.slots[0])

    def stop(self) -> None:
        self.slots[0] = 1

    def state_of(self, writer: int) -> memoryview:
        """Return the slots of a writer, STARTED to FROZEN."""
        first = 1 + SLOTS_PER_WRITER * writer
        return self.slots[first : first + SLOTS_PER_WRITER]


class WriteLoop(ABC):
    """A writer, which does operations until its time, its bytes or its number of operations are used up."""

    parts = 2
    """2: an operation is a write and a sync; 1: an operation is a single call."""
    prepare_call = "open"
    """The call to name if ``prepare`` fails."""

    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        self.number = number
        self.shared = shared
        self.coordinator = os.getppid()
        self.state = shared.state_of(number)
        self.duration_ns = int(settings["seconds"] * 1e9)
        self.min_ops = -(-SLOW_STEP_OPS // settings["writers"])
        self.max_ops = sys.maxsize
        self.max_pending_frames = MAX_PENDING_FRAMES // settings["writers"]
        self.pending_frames: list[bytes] = []
        self.paused_readings: list[int] = []
        """Unsent clock readings of operations with pauses between them."""
        self.ops = self.started_ns = self.delayed_ns = 0

    @staticmethod
    def prepare(settings: dict[str, Any]) -> None:
        """Create the file. Raises CallError or OSError; in this case no file remains."""
        create_file(settings)

    @staticmethod
    def clean_up(settings: dict[str, Any]) -> None:
        remove(settings["path"])

    @abstractmethod
    def batch_function(self) -> Batch:
        """Return a function that does some operations and records their times. It may raise CallError."""

    def send_figures(self) -> None:  # noqa: B027  most writers have no figures
        """Send figures. Called after samples were sent."""

    def run(self) -> None:
        """Do operations until ``is_over``. Raises CallError."""
        batch, starvation = self.batch_function(), Starvation()
        self.state[STARTED] = self.started_ns = now = sent_ns = clock()
        has_sent = False
        try:
            while not self.is_over(now - self.started_ns):
                self.state[LAST_CHECK] = now
                next_check_ns = now + (POLL_INTERVAL_NS if has_sent else FIRST_POLL_INTERVAL_NS)
                if self.duration_ns and self.ops >= self.min_ops:
                    next_check_ns = min(next_check_ns, self.started_ns + self.duration_ns)
                while now < next_check_ns and self.ops < self.max_ops and not self.shared.stop_requested:
                    now = batch(next_check_ns, self.max_ops - self.ops)
                    if len(self.pending_frames) >= self.max_pending_frames:
                        break
                self.state[ENDED] = now
                starvation.update()
                is_first = not has_sent and self.ops >= frames.FIRST_SAMPLES
                is_full = len(self.pending_frames) >= self.max_pending_frames
                if is_first or is_full or now - sent_ns >= SEND_INTERVAL_NS:
                    self.send_samples()
                    sent_ns, has_sent = now, True
                now = clock()
        except CallError:
            self.state[ENDED] = clock()  # include the time of the operation that failed
            raise
        finally:
            waits, pressure = starvation.waits, starvation.pressure
            self.state[CPU_WAIT], self.state[LONGEST_CPU_WAIT] = waits.total_ns(), waits.longest_ns
            self.state[CPU_PRESSURE], self.state[LONGEST_CPU_PRESSURE] = pressure.total_ns(), pressure.longest_ns
            self.state[STOLEN] = starvation.stolen_ns()
            self.send_samples()
            self.state[DELAYED] = self.delayed_ns

    def is_over(self, elapsed_ns: int) -> bool:
        was_orphaned = os.getppid() != self.coordinator
        if self.shared.stop_requested or self.ops >= self.max_ops or was_orphaned:
            return True
        if not self.duration_ns or elapsed_ns < self.duration_ns:
            return False
        return self.ops >= self.min_ops or elapsed_ns >= self.duration_ns + SLOW_STEP_EXTRA_NS

    def record(self, start_ns: int, part_ends_ns: list[int]) -> None:
        """Record consecutive operations. ``part_ends_ns``: the end of each part of each operation."""
        del part_ends_ns[len(part_ends_ns) // self.parts * self.parts :]  # an operation that failed in its second part
        self.ops += len(part_ends_ns) // self.parts
        # encode now, because the numbers would not stay in the processor's cache until they are sent
        self.pending_frames += frames.encode_samples(self.number, self.parts, start_ns, part_ends_ns)

    def record_after_pause(self, start_ns: int, part_ends_ns: list[int]) -> None:
        """Record an operation after a pause. Send it later with others, because each frame wakes the engine."""
        self.ops += 1
        self.paused_readings += (start_ns, *part_ends_ns)

    def send_samples(self) -> None:
        """Send all pending samples. The time in which the pipe was full counts as delay."""
        self.pending_frames += frames.encode_samples_with_pauses(self.number, self.parts, self.paused_readings)
        pending_frames, self.pending_frames, self.paused_readings = self.pending_frames, [], []
        for frame in pending_frames:
            self.delayed_ns += write_frame(frame)
        self.send_figures()


class BlockWriter(WriteLoop):
    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        self.block_bytes: int = settings["block_bytes"]
        self.offsets = offsets(settings, seed=number + 1)
        max_bytes = settings["max_bytes_per_s"] * settings["seconds"] // settings["writers"]
        self.max_ops = max(1, int(max_bytes // self.block_bytes)) if max_bytes else sys.maxsize
        if enough_ops := settings.get("enough_ops"):  # such a step must not run longer than planned
            self.min_ops, self.max_ops = 0, min(self.max_ops, -(-enough_ops // settings["writers"]))


class Pipes(NamedTuple):
    """The pipes between coordinator and writers, each as (read end, write end)."""

    start: tuple[int, int]
    """The coordinator closes this pipe to start the writers."""
    ready: tuple[int, int]
    """A writer that is ready writes a letter and closes the pipe. A writer that fails only closes the pipe."""
    lifeline: tuple[int, int]
    """This pipe is closed when all writers have ended."""


def fork_writer(make_writer: Callable[[int], WriteLoop], number: int, shared: Shared, pipes: Pipes) -> int:
    """Fork a writer and return its pid. The writer waits until the coordinator closes ``pipes.start``."""
    pid = os.fork()
    if pid:
        return pid
    os.close(pipes.start[1])  # so that the pipe is closed when the coordinator closes its end
    status = 1
    try:
        writer = make_writer(number)
        gc.disable()  # a collection would look like a slow disk; the loop creates no reference cycles
        os.write(pipes.ready[1], b".")
        os.close(pipes.ready[1])
        os.read(pipes.start[0], 1)
        if not shared.stop_requested:
            writer.run()
        status = 0
    except CallError as failure:
        shared.stop()
        send_failure(failure, number)
        status = 0  # the error was reported
    finally:
        os._exit(status)


def measure(kind: type[WriteLoop], settings: dict[str, Any]) -> bool:
    """Fork the writers, start them at ``go``, and wait for their end. Return False if one failed before ``ready``."""
    writers = settings["writers"]
    shared = Shared(writers)
    device = os.stat(".").st_dev  # read before the storage can hang
    pipes = Pipes(os.pipe(), os.pipe(), os.pipe())
    make_writer = partial(kind, settings, shared)
    pids = [fork_writer(make_writer, number, shared, pipes) for number in range(writers)]
    os.close(pipes.ready[1])
    os.close(pipes.lifeline[1])
    commands = CommandLines()
    with os.fdopen(pipes.ready[0], "rb") as ready:
        all_ready = len(ready.read()) == writers
    if all_ready:
        time.sleep(SETTLE_S)
        send("ready")
    if not all_ready or not commands.wait_for("go"):
        shared.stop()
    os.close(pipes.start[1])
    watch(pids, pipes.lifeline[0], shared, commands, device)
    reap(pids)
    if not all_ready:
        return False
    send_done([shared.state_of(number) for number in range(writers)])
    return True


def reap(pids: list[int]) -> None:
    """Wait for the writers to end, and report each writer that failed without sending an error."""
    for number, pid in enumerate(pids):
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            cause = f"signal {-status}" if status < 0 else f"status {status}"
            send("error", call="probe", errno=None, message=f"a writer ended early ({cause})", writer=number)


def send_done(states: list[memoryview]) -> None:
    starts_ns = [state[STARTED] for state in states if state[STARTED]]
    end_ns = max(state[ENDED] for state in states)
    for state in filter(itemgetter(STOPPED), states):  # a stopped writer has no CPU either
        for index in (CPU_WAIT, LONGEST_CPU_WAIT):
            state[index] = max(0, state[index]) + state[STOPPED]
    indices = {"cpu_wait_ns": CPU_WAIT, "longest_cpu_wait_ns": LONGEST_CPU_WAIT, "stolen_ns": STOLEN}
    indices |= {"cpu_pressure_ns": CPU_PRESSURE, "longest_cpu_pressure_ns": LONGEST_CPU_PRESSURE}
    indices |= {"frozen_ns": FROZEN} if any(map(itemgetter(FROZEN), states)) else {}
    longest_ns = {name: max(state[index] for state in states) for name, index in indices.items()}
    send(
        "done",
        start_ns=min(starts_ns, default=end_ns),
        end_ns=end_ns,
        delayed_ns=max(state[DELAYED] for state in states),
        **{name: ns for name, ns in longest_ns.items() if ns != UNKNOWN},
    )


def watch(pids: list[int], lifeline_fd: int, shared: Shared, commands: CommandLines, device: int) -> None:
    """Wait until all writers have ended. Pass ``stop`` on to them, report the system call of a blocked writer, and
    measure how long a signal or a debugger stopped a writer, or a frozen filesystem blocked it.

    ``device``: the device number of the filesystem.
    """
    own_stops: list[int] = []
    """Not empty if this process was stopped since the last check, probably together with the writers."""
    signal.signal(signal.SIGCONT, lambda number, _: own_stops.append(number))
    checked_ns, have_ended, interval_s = clock(), False, WATCH_INTERVAL_S
    while not have_ended:
        have_ended = commands.wait_until_closed(lifeline_fd, interval_s)
        if commands.stop_requested:
            shared.stop()
        previous_check_ns, checked_ns, interval_s = checked_ns, clock(), WATCH_INTERVAL_S
        is_frozen_below: bool | None = None
        for number, pid in enumerate(pids):
            state = shared.state_of(number)
            last_check_ns = state[LAST_CHECK]
            silent_ns = checked_ns - last_check_ns if last_check_ns else 0
            if own_stops:
                state[STOPPED] += checked_ns - previous_check_ns
                continue
            if silent_ns <= POLL_INTERVAL_NS:
                continue
            interval_s = WATCH_INTERVAL_OF_SILENT_S
            waited_ns = min(silent_ns, checked_ns - previous_check_ns)
            if is_frozen_below is None:
                is_frozen_below = sync_path.is_frozen_below_loop(device)
            if sync_path.is_stopped(pid):
                state[STOPPED] += waited_ns
            elif not have_ended and (call := sync_path.blocking_call(pid, is_frozen_below=is_frozen_below)):
                if call.endswith(ON_FROZEN):
                    state[FROZEN] += waited_ns
                if silent_ns > BLOCKED_NS:
                    send("inflight", since_ns=last_check_ns, call=call, writer=number)
        own_stops.clear()


def main(kind: type[WriteLoop], **common_settings: Any) -> NoReturn:
    """Run the probe. ``common_settings``: settings that all steps of the probe share."""
    run_probe(lambda settings: run(kind, {**common_settings, **settings}), kind.prepare_call)


def run(kind: type[WriteLoop], settings: dict[str, Any]) -> None:
    if settings["facts"]:
        send("facts", **checked_call("open", sync_path.facts, "."))
    kind.prepare(settings)
    try:
        if measure(kind, settings):
            CommandLines().wait_for_end()
    finally:
        kind.clean_up(settings)
