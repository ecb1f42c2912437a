"""The writers of a probe, one process each, so that no writer ever waits for another one's interpreter.

The first process coordinates: it makes the file, forks the writers, passes ``go`` and ``stop`` on, and names the call
that a silent writer sits in. What a probe adds is a kind of Writer: how it opens the file, and a batch of operations.
Settings: those of its kind of step, plus ``directory`` and its ``identity`` (the run's own, which it enters), ``path``
(the file to make there) and ``facts`` (look at the own sync path first).
The file is removed when stdin closes, whatever happened to the engine.
"""

from __future__ import annotations

import gc
import mmap
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from fstui.measure.probes import sync_path
from fstui.measure.probes.blocks import offsets
from fstui.measure.probes.files import make_file, remove
from fstui.measure.probes.starvation import UNKNOWN, Starvation
from fstui.measure.wire import frames
from fstui.measure.wire.talk import (
    CallError,
    CommandLines,
    calling,
    clock,
    enter_run_directory,
    probe_settings,
    reporting,
    send,
    send_failure,
    write_frame,
)

HAND_OVER_NS = 50_000_000
SLOW_STEP_OPS = 50
SLOW_STEP_EXTRA_NS = 5_000_000_000
SILENT_NS = 500_000_000
WRITER_WORDS = 7  # started_ns, ended_ns, held_ns, last hand-over, waited for a CPU in all, at once, stolen
Batch = Callable[[int, int], int]
"""(until_ns, ops_left) → the time of its last operation."""


class Shared:
    """What coordinator and writers tell each other without a system call: a stop flag and seven numbers a writer."""

    def __init__(self, writers: int) -> None:
        self.words = memoryview(mmap.mmap(-1, 8 * (1 + WRITER_WORDS * writers))).cast("q")

    @property
    def stopping(self) -> bool:
        """The coordinator wants the writers to end."""
        return bool(self.words[0])

    def stop(self) -> None:
        """Ask every writer to end after its operation."""
        self.words[0] = 1

    def of(self, writer: int) -> memoryview:
        """started_ns, ended_ns, held_ns, the time of the last hand-over and the CPU's absence, of one writer."""
        first = 1 + WRITER_WORDS * writer
        return self.words[first : first + WRITER_WORDS]


class Writer(ABC):
    """One writer's measured loop."""

    parts = 2
    """Of an operation: a write and its sync, or one alone."""

    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        self.number = number
        self.shared = shared
        self.coordinator = os.getppid()
        self.state = shared.of(number)
        self.block_bytes: int = settings["block_bytes"]
        self.length_ns = int(settings["seconds"] * 1e9)
        self.least_ops = -(-SLOW_STEP_OPS // settings["writers"])
        most_bytes = settings["max_bytes_per_s"] * settings["seconds"] // settings["writers"]
        self.most_ops = max(1, int(most_bytes // self.block_bytes)) if most_bytes else sys.maxsize
        if enough := settings.get("enough_ops"):
            self.least_ops, self.most_ops = 0, min(self.most_ops, -(-enough // settings["writers"]))
        self.offsets = offsets(settings, seed=number + 1)
        self.pending: list[bytes] = []
        self.apart: list[int] = []
        """Readings of operations with pauses between them, for the frames of the next hand-over."""
        self.ops = 0
        self.held_ns = 0

    @abstractmethod
    def batch(self) -> Batch:
        """What measures a batch of operations, keeps it, and raises CallError."""

    def run(self) -> None:
        """Write until the time is over, the bytes are used up or the coordinator says stop. Raises CallError."""
        batch, starvation = self.batch(), Starvation()
        started = now = clock()
        self.state[0] = started
        try:
            while not self.over(now - started):
                self.state[3] = now
                hand_over_at = now + HAND_OVER_NS
                if self.length_ns and self.ops >= self.least_ops:
                    hand_over_at = min(hand_over_at, started + self.length_ns)
                while now < hand_over_at and self.ops < self.most_ops and not self.shared.stopping:
                    now = batch(hand_over_at, self.most_ops - self.ops)
                self.state[1] = now
                starvation.look()
                self.hand_over()
                now = clock()
        except CallError:
            self.state[1] = clock()  # the operation that failed took its time too
            raise
        finally:
            self.state[4], self.state[6] = starvation.waited_ns(), starvation.stolen_ns()
            self.state[5] = starvation.longest_ns
            self.hand_over()
            self.state[2] = self.held_ns

    def over(self, elapsed_ns: int) -> bool:
        if self.shared.stopping or self.ops >= self.most_ops or os.getppid() != self.coordinator:
            return True
        if not self.length_ns or elapsed_ns < self.length_ns:
            return False
        return self.ops >= self.least_ops or elapsed_ns >= self.length_ns + SLOW_STEP_EXTRA_NS

    def keep(self, start_ns: int, marks: list[int]) -> None:
        self.ops += len(marks) // self.parts
        # packed at once: 50 ms of numbers would not stay in the processor's cache
        self.pending += frames.encode_samples(self.number, self.parts, start_ns, marks)

    def keep_apart(self, start_ns: int, marks: list[int]) -> None:
        """One operation after a pause. Those of a hand-over come together: a frame each would wake the engine as often
        as the storage is written to."""
        self.ops += 1
        self.apart += (start_ns, *marks)

    def hand_over(self) -> None:
        """Send what is pending. Only the time blocked on a full pipe counts as held."""
        pending = [*self.pending, *frames.encode_samples_apart(self.number, self.parts, self.apart)]
        self.pending, self.apart = [], []
        for frame in pending:
            self.held_ns += write_frame(frame)


def fork_writer(
    make: Callable[[int], Writer], number: int, shared: Shared, gate: tuple[int, int], lifeline: int
) -> int:
    """A writer in a process of its own, waiting at the gate; its end of the lifeline closes when it ends.

    Returns its pid, in the coordinator only.
    """
    pid = os.fork()
    if pid:
        return pid
    os.close(gate[1])
    status = 1
    try:
        writer = make(number)
        gc.disable()  # nothing here makes cycles, and a collection would look like a slow disk
        os.write(lifeline, b".")
        os.read(gate[0], 1)  # returns when the coordinator opens the gate by closing its side
        if not shared.stopping:
            writer.run()
        status = 0
    except CallError as failure:
        shared.stop()
        send_failure(failure, number)
        status = 0  # it has been said
    finally:
        os._exit(status)


def measure(kind: type[Writer], settings: dict[str, Any]) -> bool:
    """Fork the writers, wait for ``go``, watch them until all have ended, and say ``done``.

    False where it never came to that: a writer could not begin, and the engine waits for no counters.
    """
    writers = settings["writers"]
    shared = Shared(writers)
    gate = os.pipe()
    watched, lifeline = os.pipe()
    make = partial(kind, settings, shared)
    pids = [fork_writer(make, number, shared, gate, lifeline) for number in range(writers)]
    os.close(lifeline)
    commands = CommandLines()
    waiting = writers
    while waiting and (letters := os.read(watched, waiting)):
        waiting -= len(letters)
    if waiting:  # a writer ended before it was ready, and said why
        shared.stop()
    else:
        send("ready")
        if not commands.wait_for("go"):
            shared.stop()
    os.close(gate[1])
    watch(pids, watched, shared, commands)
    reap(pids)
    if waiting:
        return False
    send_done([shared.of(number) for number in range(writers)])
    return True


def reap(pids: list[int]) -> None:
    """Say of every writer that did not end by itself what ended it."""
    for number, pid in enumerate(pids):
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            how = f"by signal {-status}" if status < 0 else f"with status {status}"
            send("error", call="probe", errno=None, message=f"a writer was ended {how} too early", writer=number)


def send_done(states: list[memoryview]) -> None:
    started = [state[0] for state in states if state[0]]
    ended = max(state[1] for state in states)
    places = (("cpu_wait_ns", 4), ("longest_cpu_wait_ns", 5), ("stolen_ns", 6))
    missed = {name: max(state[at] for state in states) for name, at in places}
    send(
        "done",
        start_ns=min(started, default=ended),
        end_ns=ended,
        held_ns=max(state[2] for state in states),
        **{name: ns for name, ns in missed.items() if ns != UNKNOWN},
    )


def watch(pids: list[int], watched: int, shared: Shared, commands: CommandLines) -> None:
    """Until every writer has ended: pass a stop on, and say which call a silent writer sits in."""
    while not commands.wait_until_closed(watched, timeout_s=0.25):
        if commands.stop_wanted:
            shared.stop()
        now = clock()
        for number, pid in enumerate(pids):
            last = shared.of(number)[3]
            if last and now - last > SILENT_NS and (call := sync_path.call_of(pid)):
                send("inflight", since_ns=last, call=call, writer=number)


def main(kind: type[Writer], **usual: Any) -> NoReturn:
    """The program. ``usual``: settings that such a probe is not asked for, and always has."""
    settings = {**usual, **probe_settings()}
    path = settings["path"]
    with reporting("open"):
        enter_run_directory(settings)
        make_file(settings)
        try:
            if stubs := settings.get("facts"):
                send("facts", **calling("open", sync_path.facts, ".", stubs))
            if measure(kind, settings):
                CommandLines().wait_for_end()
        finally:
            remove(path)
    sys.exit(0)
