"""The writers of a probe: one process each, so that no writer waits for the interpreter lock of another.

The first process is the coordinator: it makes the file, forks the writers, passes ``go`` and ``stop`` on, and reports
the system call in which a silent writer is stuck. When stdin closes, it removes the file. A probe is a subclass of
WriteLoop.

Settings: those of the step, plus ``directory`` and its ``identity`` (the run's directory, which the probe enters),
``path`` (the file to make there) and ``facts`` (whether to examine the sync path of this process first).
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, NoReturn

from fstui.measure.probes import sync_path
from fstui.measure.probes.files import make_file, offsets, remove
from fstui.measure.probes.sync_path import open_in_proc, read_text
from fstui.measure.wire import frames
from fstui.measure.wire.stdio import (
    CallError,
    CommandLines,
    calling,
    clock,
    run_probe,
    send,
    send_failure,
    write_frame,
)

POLL_NS = 125_000_000
"""Time between two checks of a writer: was it stopped, and did it wait for a CPU? A divisor of HAND_OVER_NS."""
HAND_OVER_NS = 250_000_000
"""Time between two hand-overs of samples. Each wakes up the engine, which may delay the next operation."""
MAX_PENDING = 128
"""Maximum number of frames that all writers together keep: half of what the pipe can hold."""
SLOW_STEP_OPS = 50
SLOW_STEP_EXTRA_NS = 5_000_000_000
"""A step with fewer than SLOW_STEP_OPS operations may run this much longer than planned."""
SILENT_NS = 500_000_000
"""If a writer has not looked at the clock for this time, the system call that blocks it is reported."""
WRITER_WORDS = 7
UNKNOWN = -1
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STEAL = 8
Batch = Callable[[int, int], int]
"""(until_ns, ops_left) → the time at which the last operation ended."""


class Starvation:
    """The time in which this process was ready to run and had no CPU, so that an operation is slow on any storage.

    The second field of /proc/self/schedstat is the time on a run queue, including throttling by a CPU quota
    (Documentation/scheduler/sched-stats.rst). The eighth field of a CPU in /proc/stat is the time for which the
    hypervisor ran something else (proc_stat(5)).
    """

    def __init__(self) -> None:
        # held open: to open the file takes ten times as long as to read it, and the next operation waits for that
        self._schedstat_fd = open_in_proc("self/schedstat")
        self._first = self._latest = self._run_queue_ns()
        self._stolen = stolen_ns()
        self.longest_ns = UNKNOWN if self._first == UNKNOWN else 0
        """The longest wait between two calls of ``update``. Only a single long wait explains a stall."""

    def update(self) -> None:
        waited = self._run_queue_ns()
        if UNKNOWN not in (waited, self._latest):
            self.longest_ns = max(self.longest_ns, waited - self._latest)
        self._latest = waited

    def waited_ns(self) -> int:
        self.update()
        return UNKNOWN if UNKNOWN in (self._latest, self._first) else self._latest - self._first

    def _run_queue_ns(self) -> int:
        words = os.pread(self._schedstat_fd, 128, 0).split() if self._schedstat_fd is not None else []
        return int(words[1]) if len(words) > 1 else UNKNOWN

    def stolen_ns(self) -> int:
        """Return the largest time that a CPU lost to the hypervisor."""
        return max((now - before for now, before in zip(stolen_ns(), self._stolen, strict=False)), default=UNKNOWN)


def stolen_ns() -> list[int]:
    rows = (line.split() for line in read_text("stat").splitlines()[1:] if line.startswith("cpu"))
    return [int(row[_STEAL]) * _TICK_NS for row in rows if len(row) > _STEAL]


class Shared:
    """Memory that coordinator and writers share: a stop flag, and WRITER_WORDS numbers per writer."""

    def __init__(self, writers: int) -> None:
        self.words = memoryview(mmap.mmap(-1, 8 * (1 + WRITER_WORDS * writers))).cast("q")

    @property
    def stopping(self) -> bool:
        return bool(self.words[0])

    def stop(self) -> None:
        self.words[0] = 1

    def state_of(self, writer: int) -> memoryview:
        """Return the numbers of a writer: started_ns, ended_ns, delayed_ns, the last time that it looked at the clock,
        and three times without a CPU: all waits, the longest wait, and the time that a hypervisor took."""
        first = 1 + WRITER_WORDS * writer
        return self.words[first : first + WRITER_WORDS]


class WriteLoop(ABC):
    parts = 2
    """2: an operation is a write and a sync; 1: it is a single call."""
    making = "open"
    """The call to report if the file cannot be made."""

    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        self.number = number
        self.shared = shared
        self.coordinator = os.getppid()
        self.state = shared.state_of(number)
        self.length_ns = int(settings["seconds"] * 1e9)
        self.min_ops = -(-SLOW_STEP_OPS // settings["writers"])
        self.max_ops = sys.maxsize
        self.max_pending = MAX_PENDING // settings["writers"]
        self.pending: list[bytes] = []
        self.apart: list[int] = []
        """Clock readings of operations with pauses between them, since the last hand-over."""
        self.ops = self.started_ns = self.delayed_ns = 0

    @staticmethod
    def prepare(settings: dict[str, Any]) -> None:
        """Make the file. Raises CallError or OSError, and then leaves nothing behind."""
        make_file(settings)

    @staticmethod
    def clean_up(settings: dict[str, Any]) -> None:
        remove(settings["path"])

    @abstractmethod
    def batch(self) -> Batch:
        """Return a function that does some operations and keeps their times. It raises CallError."""

    def report(self) -> None:  # noqa: B027  most writers have no figures
        """Send figures. Called after each hand-over."""

    def run(self) -> None:
        """Do operations until the time or the bytes are used up, or a stop. Raises CallError."""
        batch, starvation = self.batch(), Starvation()
        started = now = handed_over = clock()
        self.state[0] = self.started_ns = started
        try:
            while not self.over(now - started):
                self.state[3] = now
                look_at = now + POLL_NS
                if self.length_ns and self.ops >= self.min_ops:
                    look_at = min(look_at, started + self.length_ns)
                while now < look_at and self.ops < self.max_ops and not self.shared.stopping:
                    now = batch(look_at, self.max_ops - self.ops)
                    if len(self.pending) >= self.max_pending:
                        break
                self.state[1] = now
                starvation.update()
                if now - handed_over >= HAND_OVER_NS or len(self.pending) >= self.max_pending:
                    self.hand_over()
                    handed_over = now
                now = clock()
        except CallError:
            self.state[1] = clock()  # include the time of the operation that failed
            raise
        finally:
            self.state[4], self.state[6] = starvation.waited_ns(), starvation.stolen_ns()
            self.state[5] = starvation.longest_ns
            self.hand_over()
            self.state[2] = self.delayed_ns

    def over(self, elapsed_ns: int) -> bool:
        was_orphaned = os.getppid() != self.coordinator
        if self.shared.stopping or self.ops >= self.max_ops or was_orphaned:
            return True
        if not self.length_ns or elapsed_ns < self.length_ns:
            return False
        return self.ops >= self.min_ops or elapsed_ns >= self.length_ns + SLOW_STEP_EXTRA_NS

    def keep(self, start_ns: int, marks: list[int]) -> None:
        self.ops += len(marks) // self.parts
        # encode at once: until the hand-over, the numbers would not stay in the processor's cache
        self.pending += frames.encode_samples(self.number, self.parts, start_ns, marks)

    def keep_one_after_pause(self, start_ns: int, marks: list[int]) -> None:
        """Keep an operation after a pause. It is sent with others, because each frame wakes the engine."""
        self.ops += 1
        self.apart += (start_ns, *marks)

    def hand_over(self) -> None:
        """Send what is pending. Count the time spent waiting for space in the pipe as delay."""
        pending = [*self.pending, *frames.encode_samples_apart(self.number, self.parts, self.apart)]
        self.pending, self.apart = [], []
        for frame in pending:
            self.delayed_ns += write_frame(frame)
        self.report()


class BlockWriter(WriteLoop):
    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        self.block_bytes: int = settings["block_bytes"]
        self.offsets = offsets(settings, seed=number + 1)
        most_bytes = settings["max_bytes_per_s"] * settings["seconds"] // settings["writers"]
        self.max_ops = max(1, int(most_bytes // self.block_bytes)) if most_bytes else sys.maxsize
        if enough := settings.get("enough_ops"):  # such a step must not take longer than planned
            self.min_ops, self.max_ops = 0, min(self.max_ops, -(-enough // settings["writers"]))


class Pipes(NamedTuple):
    """The pipes between coordinator and writers: the end to read from, the end to write to."""

    start: tuple[int, int]
    """The coordinator closes it to start the writers."""
    ready: tuple[int, int]
    """A writer writes a letter when it is ready, and closes it. One that fails before only closes it."""
    lifeline: tuple[int, int]
    """It is closed when all writers have ended."""


def fork_writer(make: Callable[[int], WriteLoop], number: int, shared: Shared, pipes: Pipes) -> int:
    """Fork a writer and return its pid. The writer waits until the coordinator closes ``pipes.start``."""
    pid = os.fork()
    if pid:
        return pid
    os.close(pipes.start[1])  # otherwise the pipe would stay open when the coordinator closes its end
    status = 1
    try:
        writer = make(number)
        gc.disable()  # a collection would look like a slow disk; the loop makes no reference cycles
        os.write(pipes.ready[1], b".")
        os.close(pipes.ready[1])
        os.read(pipes.start[0], 1)
        if not shared.stopping:
            writer.run()
        status = 0
    except CallError as failure:
        shared.stop()
        send_failure(failure, number)
        status = 0  # the error was reported
    finally:
        os._exit(status)


def measure(kind: type[WriteLoop], settings: dict[str, Any]) -> bool:
    """Fork the writers and wait for ``go`` and their ends. Returns False if one failed before ``ready``."""
    writers = settings["writers"]
    shared = Shared(writers)
    pipes = Pipes(os.pipe(), os.pipe(), os.pipe())
    make = partial(kind, settings, shared)
    pids = [fork_writer(make, number, shared, pipes) for number in range(writers)]
    os.close(pipes.ready[1])
    os.close(pipes.lifeline[1])
    commands = CommandLines()
    with os.fdopen(pipes.ready[0], "rb") as letters:
        all_ready = len(letters.read()) == writers
    if all_ready:
        send("ready")
    if not all_ready or not commands.wait_for("go"):
        shared.stop()
    os.close(pipes.start[1])
    watch(pids, pipes.lifeline[0], shared, commands)
    reap(pids)
    if not all_ready:
        return False
    send_done([shared.state_of(number) for number in range(writers)])
    return True


def reap(pids: list[int]) -> None:
    """Wait for the writers to end, and report those that ended without reporting an error."""
    for number, pid in enumerate(pids):
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            send("error", call="probe", errno=None, message=f"a writer was ended {how} too early", writer=number)


def send_done(states: list[memoryview]) -> None:
    started = [state[0] for state in states if state[0]]
    ended = max(state[1] for state in states)
    indexes = (("cpu_wait_ns", 4), ("longest_cpu_wait_ns", 5), ("stolen_ns", 6))
    missed = {name: max(state[index] for state in states) for name, index in indexes}
    send(
        "done",
        start_ns=min(started, default=ended),
        end_ns=ended,
        delayed_ns=max(state[2] for state in states),
        **{name: ns for name, ns in missed.items() if ns != UNKNOWN},
    )


def watch(pids: list[int], watched: int, shared: Shared, commands: CommandLines) -> None:
    """Wait until all writers have ended. Pass ``stop`` on to them, and report the system call of a silent writer."""
    while not commands.wait_until_closed(watched, timeout_s=0.25):
        if commands.stop_wanted:
            shared.stop()
        now = clock()
        for number, pid in enumerate(pids):
            last = shared.state_of(number)[3]
            if last and now - last > SILENT_NS and (call := sync_path.call_of(pid)):
                send("inflight", since_ns=last, call=call, writer=number)


def main(kind: type[WriteLoop], **fixed: Any) -> NoReturn:
    """Run the probe. ``fixed``: settings that are the same in all its steps."""
    run_probe(lambda settings: run(kind, {**fixed, **settings}), kind.making)


def run(kind: type[WriteLoop], settings: dict[str, Any]) -> None:
    if settings["facts"]:
        send("facts", **calling("open", sync_path.facts, "."))
    kind.prepare(settings)
    try:
        if measure(kind, settings):
            CommandLines().wait_for_end()
    finally:
        kind.clean_up(settings)
