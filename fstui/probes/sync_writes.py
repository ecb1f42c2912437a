"""Probe: writes blocks of a file of its own and syncs them, from one or more writers, and times both parts.

One process per writer, so that no writer ever waits for another one's interpreter. The first process coordinates: it
makes the file, forks the writers, passes ``go`` and ``stop`` on, and names the call that a silent writer sits in.
Settings: ``fstui.model.SyncWrites`` plus ``path`` (the file to make) and ``facts`` (look at the own sync path first).
The file is removed when stdin closes, whatever happened to the engine.
"""

from __future__ import annotations

import gc
import mmap
import os
import random
import signal
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any, NoReturn

from fstui.probes import frames, sync_path
from fstui.probes.files import make_file, remove
from fstui.probes.talk import (
    CallError,
    CommandLines,
    calling,
    clock,
    read_settings,
    send,
    send_failure,
    write_frame,
)

PAGE = 4096
STEP = 17 * 64
"""Blocks lie so far apart in the pool. Two of them share a page only where they are 64 steps and 17 pages apart."""
NEVER_SHARED_BYTES = 16 * PAGE
NEVER_SHARED_SLOTS = 64
HAND_OVER_NS = 50_000_000
SLOW_STEP_OPS = 50
SLOW_STEP_EXTRA_NS = 5_000_000_000
SLOTS = 252  # samples of one batch fill one frame
POOL_BYTES = 8 << 20
SILENT_NS = 500_000_000
OPEN_FLAGS = {"direct": os.O_DIRECT, "dsync": os.O_DSYNC, "sync": os.O_SYNC}
SYNCS: dict[str, Callable[[int], None]] = {"fsync": os.fsync, "fdatasync": os.fdatasync}
WRITER_WORDS = 4  # started_ns, ended_ns, held_ns, last hand-over


class Shared:
    """What coordinator and writers tell each other without a system call: a stop flag and four numbers a writer."""

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
        """started_ns, ended_ns, held_ns and the time of the last hand-over of one writer."""
        first = 1 + WRITER_WORDS * writer
        return self.words[first : first + WRITER_WORDS]


class Blocks:
    """Blocks of random bytes, each its own; a new number stamped into all of them makes them new again.

    Buffered writes take them from one pool at steps of about 1 KiB, so that it stays in the processor's cache; O_DIRECT
    wants them page-aligned. Every page of a block holds a stamp, and no two blocks share a page, so no page is ever
    written twice as it was: storage that finds equal pages finds none.
    """

    def __init__(self, block_bytes: int, direct: bool) -> None:
        step = -(-block_bytes // PAGE) * PAGE if direct else min(STEP, block_bytes // 8 * 8 or 8)
        most = SLOTS if direct or block_bytes <= NEVER_SHARED_BYTES else NEVER_SHARED_SLOTS
        slots = max(1, min(most, POOL_BYTES // step))
        pool = mmap.mmap(-1, slots * step + block_bytes)
        pool.write(random.randbytes(len(pool)))
        view = memoryview(pool)
        page = block_bytes % PAGE or PAGE  # the shortest of a block: stamps as far apart as leaves none out
        apart = page // step * step or max(8, min(step, page) // 8 * 8)
        self._stamps = view[: len(pool) // 8 * 8].cast("Q")[:: apart // 8]
        self._stamp = random.getrandbits(62)
        self.blocks = [view[slot * step : slot * step + block_bytes] for slot in range(slots)]

    def fresh(self) -> list[memoryview]:
        """The blocks, none of which was ever written as it is now."""
        self._stamp += 1
        self._stamps[:] = memoryview(self._stamp.to_bytes(8, sys.byteorder) * len(self._stamps)).cast("Q")
        return self.blocks


def offsets(settings: dict[str, Any], seed: int) -> Iterator[int]:
    """Where each write goes: block-aligned within the file, or on and on for an append."""
    block, size = settings["block_bytes"], settings["file_bytes"]
    if settings["offsets"] == "append":
        return iter(range(0, sys.maxsize, block))
    if settings["offsets"] == "same":
        return cycle([0])
    places = list(range(0, size - block + 1, block))
    if settings["offsets"] == "random":
        choose = random.Random(seed)
        chosen = choose.choices(places, k=max(8192, min(len(places), 65536)))
        places = array("q", chosen).tolist()  # numbers made in the order of their use: the cache is one step ahead
    return cycle(places)


class Writer:
    """One writer's measured loop."""

    def __init__(self, settings: dict[str, Any], number: int, shared: Shared) -> None:
        self.number = number
        self.shared = shared
        self.coordinator = os.getppid()
        self.state = shared.of(number)
        self.block_bytes: int = settings["block_bytes"]
        self.sync = SYNCS.get(settings["sync"])
        self.sync_call: str = settings["sync"]
        self.sync_every: int = settings["sync_every"]
        self.parts = 2 if self.sync else 1
        self.length_ns = int(settings["seconds"] * 1e9)
        self.least_ops = 0 if settings["ops_per_s"] else -(-SLOW_STEP_OPS // settings["writers"])
        most_bytes = settings["max_bytes_per_s"] * settings["seconds"] // settings["writers"]
        self.most_ops = max(1, int(most_bytes // self.block_bytes)) if most_bytes else sys.maxsize
        self.pause_ns = int(1e9 / settings["ops_per_s"]) if settings["ops_per_s"] else 0
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        for flag in settings["open_flags"]:
            flags |= OPEN_FLAGS[flag]
        self.fd = calling("open", os.open, settings["path"], flags)
        self.blocks = Blocks(self.block_bytes, direct="direct" in settings["open_flags"])
        self.offsets = offsets(settings, seed=number + 1)
        self.pending: list[bytes] = []
        self.ops = 0
        self.held_ns = 0

    def run(self) -> None:
        """Write until the time is over, the bytes are used up or the coordinator says stop. Raises CallError."""
        batch = self.paced_batch if self.pause_ns else self.batch_with_sync if self.sync else self.batch_without_sync
        if self.sync and self.sync_every > 1:
            batch = self.batch_with_rare_sync
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
                self.hand_over()
                now = clock()
        except CallError:
            self.state[1] = clock()  # the operation that failed took its time too
            raise
        finally:
            self.hand_over()
            self.state[2] = self.held_ns

    def over(self, elapsed_ns: int) -> bool:
        if self.shared.stopping or self.ops >= self.most_ops or os.getppid() != self.coordinator:
            return True
        if not self.length_ns or elapsed_ns < self.length_ns:
            return False
        return self.ops >= self.least_ops or elapsed_ns >= self.length_ns + SLOW_STEP_EXTRA_NS

    def batch_with_sync(self, until_ns: int, ops_left: int) -> int:
        """Overwrites and appends of whole blocks: a short one is followed by the error that made it short."""
        pwrite, sync, tick, fd = os.pwrite, self.sync, clock, self.fd
        assert sync is not None
        marks: list[int] = []
        put = marks.append
        blocks = zip(self.blocks.fresh(), islice(self.offsets, min(ops_left, SLOTS)), strict=False)
        now = start = tick()
        try:
            for block, offset in blocks:
                pwrite(fd, block, offset)
                put(tick())
                sync(fd)
                now = tick()
                put(now)
                if now >= until_ns:
                    break
        except OSError as error:
            call = self.sync_call if len(marks) % 2 else "pwrite"
            self.keep(start, marks[: len(marks) // 2 * 2])
            raise CallError(call, error) from error
        self.keep(start, marks)
        return now

    def batch_without_sync(self, until_ns: int, ops_left: int) -> int:
        pwrite, tick, fd = os.pwrite, clock, self.fd
        marks: list[int] = []
        put = marks.append
        blocks = zip(self.blocks.fresh(), islice(self.offsets, min(ops_left, SLOTS)), strict=False)
        now = start = tick()
        try:
            for block, offset in blocks:
                pwrite(fd, block, offset)
                now = tick()
                put(now)
                if now >= until_ns:
                    break
        except OSError as error:
            self.keep(start, marks)
            raise CallError("pwrite", error) from error
        self.keep(start, marks)
        return now

    def batch_with_rare_sync(self, until_ns: int, ops_left: int) -> int:
        """A sync after every N-th write; the others have a sync part of no length."""
        now = clock()
        start = now
        marks: list[int] = []
        try:
            for block, offset in zip(self.blocks.fresh(), islice(self.offsets, min(ops_left, SLOTS)), strict=False):
                self.one_op(block, offset, marks)
                now = marks[-1]
                if now >= until_ns:
                    break
        finally:
            self.keep(start, marks[: len(marks) // 2 * 2])
        return now

    def paced_batch(self, until_ns: int, ops_left: int) -> int:
        """One operation at its due time; sleeps in short pieces, so that a stop is heard."""
        due = self.state[0] + self.ops * self.pause_ns
        while (left := due - clock()) > 0 and not self.shared.stopping:
            if clock() >= until_ns:
                return clock()
            time.sleep(min(left, HAND_OVER_NS) / 1e9)
        if self.shared.stopping:
            return clock()
        marks: list[int] = []
        block, offset = self.blocks.fresh()[0], next(self.offsets)
        start = clock()
        self.one_op(block, offset, marks)
        self.keep(start, marks)
        return marks[-1]

    def one_op(self, block: memoryview, offset: int, marks: list[int]) -> None:
        calling("pwrite", os.pwrite, self.fd, block, offset)
        marks.append(clock())
        if self.sync:
            op = self.ops + len(marks) // 2 + 1
            if op % self.sync_every == 0:
                calling(self.sync_call, self.sync, self.fd)
                marks.append(clock())
            else:
                marks.append(marks[-1])

    def keep(self, start_ns: int, marks: list[int]) -> None:
        self.ops += len(marks) // self.parts
        # packed at once: 50 ms of numbers would not stay in the processor's cache
        self.pending += frames.encode_samples(self.number, self.parts, start_ns, marks)

    def hand_over(self) -> None:
        """Send what is pending. Only the time blocked on a full pipe counts as held."""
        pending, self.pending = self.pending, []
        for frame in pending:
            self.held_ns += write_frame(frame)


def fork_writer(settings: dict[str, Any], number: int, shared: Shared, gate: tuple[int, int], lifeline: int) -> int:
    """A writer in a process of its own, waiting at the gate; its end of the lifeline closes when it ends.

    Returns its pid, in the coordinator only.
    """
    pid = os.fork()
    if pid:
        return pid
    os.close(gate[1])
    status = 1
    try:
        writer = Writer(settings, number, shared)
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


def measure(settings: dict[str, Any]) -> bool:
    """Fork the writers, wait for ``go``, watch them until all have ended, and say ``done``.

    False where it never came to that: a writer could not begin, and the engine waits for no counters.
    """
    writers = settings["writers"]
    shared = Shared(writers)
    gate = os.pipe()
    watched, lifeline = os.pipe()
    pids = [fork_writer(settings, number, shared, gate, lifeline) for number in range(writers)]
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
    send("done", start_ns=min(started, default=ended), end_ns=ended, held_ns=max(state[2] for state in states))


def watch(pids: list[int], watched: int, shared: Shared, commands: CommandLines) -> None:
    """Until every writer has ended: pass a stop on, and say which call a silent writer sits in."""
    while not commands.ended_meanwhile(watched, timeout_s=0.25):
        if commands.stop_wanted:
            shared.stop()
        now = clock()
        for number, pid in enumerate(pids):
            last = shared.of(number)[3]
            if last and now - last > SILENT_NS and (call := sync_path.call_of(pid)):
                send("inflight", since_ns=last, call=call, writer=number)


def main() -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    settings = read_settings()
    os.set_blocking(1, False)
    path = settings["path"]
    try:
        make_file(settings)
        try:
            if settings.get("facts"):
                send("facts", **calling("open", sync_path.facts, os.path.dirname(path)))
            if measure(settings):
                CommandLines().wait_for_end()
        finally:
            remove(path)
    except CallError as failure:
        send_failure(failure)
    except BrokenPipeError:
        pass  # the engine is gone
    sys.exit(0)


if __name__ == "__main__":
    main()
