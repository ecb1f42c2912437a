"""Child: the writer of the power-cut test. Its stdout goes to a witness on another machine, not to its parent.

Each writer is a process. It writes a record, syncs it, and only then prints the acknowledgement: one write(2) of one
line to the shared stdout. The first process does no I/O on the storage. It prints a sign of life every second and waits
for the end. ``fstui.powercut.log`` defines the lines, ``fstui.powercut.records`` the records and files.

stdin: settings as one JSON line (``directory`` to create, ``run``, ``header``, ``streams``, ``seconds``, ``pace``,
``servers``: see ``fstui.powercut.server``), then ``stop REASON``. A closed stdin also stops the writers. stderr, for
the parent: JSON lines ``ready``, ``refused`` (before the first record), ``ended`` with ``failed``. The directory stays,
because it is read back after the cut.
"""

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
from fstui.measure.wire.stdio import CallError, ProgramError, checked_call, clock, read_settings, write_line
from fstui.powercut.log import FAILURE_PREFIX, READER_GONE, WriterEnd
from fstui.powercut.output import Output, RecordDatabase, WriterFiles, prepare, sync_directory
from fstui.powercut.records import END_REASON_FILE, Stream
from fstui.powercut.server import RecordServer

ALIVE_INTERVAL_S = 1.0
STOP_TIMEOUT_NS = 2_000_000_000
"""How long to wait, after a stop, for an operation in flight."""
POLL_INTERVAL_S = 0.05
"""Interval between two checks of stdin, a child or a clock."""


def report(**fields: Any) -> None:
    """Print one line for the parent, which may have died."""
    with suppress(OSError):
        os.write(2, json.dumps(fields).encode() + b"\n")


def write_records(output: Output, began_ns: int, interval_ns: int, must_stop: Callable[[], bool]) -> None:
    """Write records until stopped. Raises CallError; BrokenPipeError if nothing reads the acknowledgements."""
    writer, sequence = output.stream.writer, output.stream.first_sequence
    due_ns = clock()
    while not must_stop():
        if interval_ns and (early_ns := due_ns - clock()) > 0:
            time.sleep(min(early_ns / 1e9, POLL_INTERVAL_S))
            continue
        due_ns = max(due_ns + interval_ns, clock() - interval_ns)  # no burst after a stall
        output.put(sequence)
        os.write(1, b"ack %d %d %d\n" % (writer, sequence, (clock() - began_ns) // 1_000_000))
        sequence += 1


class Coordinator:
    """The first process. It starts the writers, and stops them if the parent requests it, the time limit expires, a
    writer has failed, or stdout is closed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.directory: str = settings["directory"]
        self.run_id: str = settings["run"]
        self.streams = [Stream(*stream) for stream in settings["streams"]]
        self.header: str = settings["header"]
        self.servers: dict[str, Any] = settings["servers"]
        self.identity: list[int] = []
        self.duration_ns = int(settings["seconds"] * 1e9)
        self.interval_ns = int(1e9 / settings["pace"]) if settings["pace"] else 0
        self.stop_flag = mmap.mmap(-1, 8)
        self.pid = os.getpid()
        self.began_ns = 0
        self.children: list[int] = []
        self.stdin_data = b""

    def run_to_end(self) -> int:
        if not self.prepare_files():
            return 2
        self.began_ns = clock()
        try:
            write_line(self.header.encode() + b"\n")
        except BrokenPipeError:
            return self.finish(WriterEnd(READER_GONE))
        report(ready=True)
        failures_out, failures_in = os.pipe()
        for stream in self.streams:
            self.children.append(fork(lambda stream=stream: self.write_stream(stream, failures_in)))  # type: ignore[misc]
        os.close(failures_in)
        return self.finish(self.wait_for_end(failures_out))

    def prepare_files(self) -> bool:
        """Create the files in a child, which is killed if the parent requests a stop. Return whether that succeeded."""
        result_out, result_in = os.pipe()
        child = fork(lambda: self.prepare_in_child(result_in))
        os.close(result_in)
        while not select.select([result_out], [], [], POLL_INTERVAL_S)[0]:
            if (reason := self.read_stop_reason()) is not None:
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

    def prepare_in_child(self, result_in: int) -> int:
        try:
            result: dict[str, Any] = {"identity": prepare(self.directory, self.run_id, self.streams, self.servers)}
        except (CallError, ProgramError, OSError) as failure:
            result = {"refused": failure_text(failure)}
        os.write(result_in, json.dumps(result).encode())
        return 0

    def enter(self) -> None:
        """Enter the directory that was created, in a child. Raises CallError if the directory was replaced."""
        checked_call("chdir", enter, self.directory, self.identity)

    def write_stream(self, stream: Stream, failures_in: int) -> int:
        try:
            self.enter()
            write_records(self.open_output(stream), self.began_ns, self.interval_ns, self.must_stop)
        except BrokenPipeError:
            os.write(failures_in, READER_GONE.encode() + b"\n")
        except (CallError, ProgramError, OSError) as failure:
            message = f"writer {stream.writer} ({stream.sync}, {stream.write_method}): {failure_text(failure)}"
            os.write(failures_in, message.encode() + b"\n")
            return 1
        return 0

    def open_output(self, stream: Stream) -> Output:
        if stream.uses_server:
            server = RecordServer(self.servers[stream.write_method], f"w{stream.writer}", self.run_id, stream)
            server.start()
            return server
        return (RecordDatabase if stream.write_method == "sqlite" else WriterFiles)(self.run_id, stream)

    def must_stop(self) -> bool:
        """Return whether the stop flag is set or the first process has died. Writers call this."""
        return bool(self.stop_flag[0]) or os.getppid() != self.pid

    def wait_for_end(self, failures: int) -> WriterEnd:
        """Print signs of life until there is a reason to stop. Return the reason."""
        due_ns = clock()
        while True:
            if clock() >= due_ns:
                due_ns += int(ALIVE_INTERVAL_S * 1e9)
                if not self.print_line(b"alive %d\n" % self.elapsed_ms()):
                    return WriterEnd(READER_GONE)
            if select.select([failures], [], [], POLL_INTERVAL_S)[0]:
                message = os.read(failures, 4096).decode().partition("\n")[0]
                return WriterEnd(message or "its writers were killed", has_failed=message != READER_GONE)
            if (reason := self.read_stop_reason()) is not None:
                return WriterEnd(reason)
            if self.duration_ns and clock() - self.began_ns >= self.duration_ns:
                return WriterEnd("its time limit expired")

    def print_line(self, line: bytes) -> bool:
        """Print the line, unless the reader has stalled. Return False if stdout is closed."""
        try:
            if select.select([], [1], [], 0)[1]:
                write_line(line)
        except BrokenPipeError:
            return False
        return True

    def read_stop_reason(self) -> str | None:
        """Return the reason that arrived on stdin, or that stdin was closed; None if neither happened."""
        if not select.select([0], [], [], 0)[0]:
            return None
        data = os.read(0, 4096)
        self.stdin_data += data
        word, _, reason = self.stdin_data.decode().partition("\n")[0].partition(" ")
        if word == "stop":
            return reason
        return None if data else "its parent has died"

    def finish(self, ending: WriterEnd) -> int:
        """Stop the writers, record that no power was cut, and report the end."""
        self.stop_flag[0] = 1
        deadline_ns = clock() + STOP_TIMEOUT_NS
        stuck = [child for child in self.children if not reap(child, deadline_ns)]
        if not stuck:  # otherwise the storage hangs, and writing the reason would hang, too
            reap(fork(lambda: self.save_end_reason(ending.reason)), deadline_ns + STOP_TIMEOUT_NS)
        reason = (FAILURE_PREFIX if ending.has_failed else "") + ending.reason.replace("\n", " ")
        self.print_line(b"end %d %s\n" % (self.elapsed_ms(), reason.encode()))
        report(ended=ending.reason, failed=ending.has_failed)
        return 1 if ending.has_failed else 0

    def save_end_reason(self, reason: str) -> int:
        """Write the reason to END_REASON_FILE, in a child. It shows that no power was cut while the writers wrote."""
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


def failure_text(failure: Exception) -> str:
    """Return one short line: the call with its error, or the error of a server."""
    text = f"{failure.call}: {failure}" if isinstance(failure, CallError) else str(failure)
    return " ".join(text.split())[:900]


def fork(work: Callable[[], int]) -> int:
    """Start a child that does the work and exits with its result. Return its process id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        # a child that gets stuck in the kernel must not hold the pipes to the parent open
        devnull = os.open(os.devnull, os.O_RDWR)
        os.dup2(devnull, 0)
        os.dup2(devnull, 2)
        status = work()
    finally:
        os._exit(status)


def reap(child: int, deadline_ns: int) -> bool:
    """Reap the child. If it does not end in time, kill it and return False. It may be stuck in the kernel."""
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if clock() > deadline_ns:
            os.kill(child, signal.SIGKILL)
            return False
        time.sleep(POLL_INTERVAL_S)
    return True


def main() -> NoReturn:
    # the parent also gets these signals, and sends stop. They have a handler, because a server would inherit SIG_IGN
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    sys.exit(Coordinator(read_settings()).run_to_end())


if __name__ == "__main__":
    main()
