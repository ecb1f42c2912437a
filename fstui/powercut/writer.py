"""Child: the writer of the power-cut test. Its stdout goes to a witness on another machine, not to its parent.

Each writer is a process. It writes a record, syncs it, and only then prints the acknowledgement: one write(2) of one
line to the shared stdout. The first process does no I/O on the storage. It prints a sign of life every second and waits
for the end. ``fstui.powercut.log`` defines the lines, ``fstui.powercut.records`` the records and files.

stdin: settings as one JSON line (``directory`` to create, ``run``, ``header``, ``streams``, ``seconds``, ``pace``,
``servers``: see ``fstui.powercut.server``), then ``stop REASON``. A closed stdin also stops the writers. stderr, for
the parent: JSON lines ``ready``, ``refused`` (before the first record), ``ended`` with ``failed``. The directory stays,
because it is read back after the cut.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from fstui.measure.wire.own_directory import enter
from fstui.measure.wire.stdio import CallError, Trouble, checked_call, clock, read_settings, write_line
from fstui.powercut.log import FAILURE_PREFIX, READER_GONE, Ending
from fstui.powercut.output import Output, RecordDatabase, WriterFiles, prepare, sync_directory
from fstui.powercut.records import END_REASON_FILE, Stream
from fstui.powercut.server import RecordServer

ALIVE_S = 1.0
STOP_NS = 2_000_000_000
"""How long to wait for an operation in flight after a stop."""
NAP_S = 0.05
"""Interval between two looks at a stop, a child or a clock."""


def report(**fields: Any) -> None:
    """Print one line for the parent, which may have died."""
    with suppress(OSError):
        os.write(2, json.dumps(fields).encode() + b"\n")


def write_records(output: Output, began_ns: int, pause_ns: int, stopping: Callable[[], bool]) -> None:
    """Write records until stopped. Raises CallError; BrokenPipeError if nothing reads the acknowledgements."""
    writer, sequence = output.stream.writer, output.stream.first_sequence
    due = clock()
    while not stopping():
        if pause_ns and (early := due - clock()) > 0:
            time.sleep(min(early / 1e9, NAP_S))
            continue
        due = max(due + pause_ns, clock() - pause_ns)  # no burst after a stall
        output.put(sequence)
        os.write(1, b"ack %d %d %d\n" % (writer, sequence, (clock() - began_ns) // 1_000_000))
        sequence += 1


class Coordinator:
    """The first process: starts the writers and stops them on the first of these: a stop by the parent, the end of the
    time, a failed writer, a closed stdout."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.directory: str = settings["directory"]
        self.run: str = settings["run"]
        self.streams = [Stream(*stream) for stream in settings["streams"]]
        self.header: str = settings["header"]
        self.servers: dict[str, Any] = settings["servers"]
        self.identity: list[int] = []
        self.length_ns = int(settings["seconds"] * 1e9)
        self.pause_ns = int(1e9 / settings["pace"]) if settings["pace"] else 0
        self.stop_flag = mmap.mmap(-1, 8)
        self.pid = os.getpid()
        self.began_ns = 0
        self.children: list[int] = []
        self.received = b""

    def go(self) -> int:
        if not self.prepared():
            return 2
        self.began_ns = clock()
        try:
            write_line(self.header.encode() + b"\n")
        except BrokenPipeError:
            return self.end(Ending(READER_GONE))
        report(ready=True)
        failures_out, failures_in = os.pipe()
        for stream in self.streams:
            self.children.append(fork(lambda stream=stream: self.writer(stream, failures_in)))  # type: ignore[misc]
        os.close(failures_in)
        return self.end(self.watch(failures_out))

    def prepared(self) -> bool:
        """Create the files in a child, which is abandoned if the storage hangs. Return whether that succeeded."""
        result_out, result_in = os.pipe()
        child = fork(lambda: self.preparer(result_in))
        os.close(result_in)
        while not select.select([result_out], [], [], NAP_S)[0]:
            if (reason := self.stopped()) is not None:
                os.kill(child, signal.SIGKILL)
                report(refused=f"stopped before the first record: {reason}")
                return False
        result = json.loads(os.read(result_out, 4096) or b'{"refused": "it was killed"}')
        os.waitpid(child, 0)
        if "refused" in result:
            report(**result)
            return False
        self.identity = result["identity"]
        return True

    def preparer(self, result_in: int) -> int:
        try:
            result: dict[str, Any] = {"identity": prepare(self.directory, self.run, self.streams, self.servers)}
        except (CallError, Trouble, OSError) as failure:
            result = {"refused": what_failed(failure)}
        os.write(result_in, json.dumps(result).encode())
        return 0

    def enter(self) -> None:
        """In a child: enter the directory that was created. Raises CallError if its name leads elsewhere now."""
        checked_call("chdir", enter, self.directory, self.identity)

    def writer(self, stream: Stream, failures_in: int) -> int:
        try:
            self.enter()
            write_records(self.output(stream), self.began_ns, self.pause_ns, self.writer_is_to_stop)
        except BrokenPipeError:
            os.write(failures_in, READER_GONE.encode() + b"\n")
        except (CallError, Trouble, OSError) as failure:
            words = f"writer {stream.writer} ({stream.sync}, {stream.writes}): {what_failed(failure)}"
            os.write(failures_in, words.encode() + b"\n")
            return 1
        return 0

    def output(self, stream: Stream) -> Output:
        if stream.uses_server:
            server = RecordServer(self.servers[stream.writes], f"w{stream.writer}", self.run, stream)
            server.start()
            return server
        return (RecordDatabase if stream.writes == "sqlite" else WriterFiles)(self.run, stream)

    def writer_is_to_stop(self) -> bool:
        """In a writer: return whether the flag is set or the first process has died."""
        return bool(self.stop_flag[0]) or os.getppid() != self.pid

    def watch(self, failures: int) -> Ending:
        """Print signs of life until there is a reason to stop, and return that."""
        due = clock()
        while True:
            if clock() >= due:
                due += int(ALIVE_S * 1e9)
                if not self.print_line(b"alive %d\n" % self.elapsed_ms()):
                    return Ending(READER_GONE)
            if select.select([failures], [], [], NAP_S)[0]:
                words = os.read(failures, 4096).decode().partition("\n")[0]
                return Ending(words or "its writers were killed", failed=words != READER_GONE)
            if (reason := self.stopped()) is not None:
                return Ending(reason)
            if self.length_ns and clock() - self.began_ns >= self.length_ns:
                return Ending("its time was over")

    def print_line(self, line: bytes) -> bool:
        """Print the line, unless the reader has stalled. Return False if stdout is closed."""
        try:
            if select.select([], [1], [], 0)[1]:
                write_line(line)
        except BrokenPipeError:
            return False
        return True

    def stopped(self) -> str | None:
        """Return the reason that arrived on stdin, or that stdin was closed; None if neither happened."""
        if not select.select([0], [], [], 0)[0]:
            return None
        data = os.read(0, 4096)
        self.received += data
        word, _, reason = self.received.decode().partition("\n")[0].partition(" ")
        if word == "stop":
            return reason
        return None if data else "its parent has died"

    def end(self, ending: Ending) -> int:
        """Stop the writers, record that no power was cut, and report the end."""
        self.stop_flag[0] = 1
        until_ns = clock() + STOP_NS
        stuck = [child for child in self.children if not ended(child, until_ns)]
        if not stuck:  # otherwise the storage hangs, and so would the mark
            ended(fork(lambda: self.mark(ending.reason)), until_ns + STOP_NS)
        reason = (FAILURE_PREFIX if ending.failed else "") + ending.reason.replace("\n", " ")
        self.print_line(b"end %d %s\n" % (self.elapsed_ms(), reason.encode()))
        report(ended=ending.reason, failed=ending.failed)
        return 1 if ending.failed else 0

    def mark(self, reason: str) -> int:
        """In a child: write the reason to the file ENDED, because no power was cut while the writers wrote."""
        try:
            self.enter()
            fd = os.open(END_REASON_FILE, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.write(fd, reason.encode())
            os.fsync(fd)
            sync_directory(".")
        except CallError:
            return 1
        return 0

    def elapsed_ms(self) -> int:
        return (clock() - self.began_ns) // 1_000_000


def what_failed(failure: Exception) -> str:
    """Return one short line: the call with its error, or the error of a server."""
    words = f"{failure.call}: {failure}" if isinstance(failure, CallError) else str(failure)
    return " ".join(words.split())[:900]


def fork(work: Callable[[], int]) -> int:
    """Start a child that does the work and exits with its result. Return its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        # if it gets stuck in the kernel, it must not hold the pipes to the parent open
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 2)
        status = work()
    finally:
        os._exit(status)


def ended(child: int, until_ns: int) -> bool:
    """Reap the child. If it is stuck in the kernel, kill it (it dies when the kernel returns) and return False."""
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if clock() > until_ns:
            os.kill(child, signal.SIGKILL)
            return False
        time.sleep(NAP_S)
    return True


def main() -> NoReturn:
    # the parent gets them, too, and sends stop. A handler, because a server would inherit an ignored signal
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    sys.exit(Coordinator(read_settings()).go())


if __name__ == "__main__":
    main()
