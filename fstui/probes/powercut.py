"""Probe: the writer of the power-cut check. Its stdout is not for the engine but for a witness on another machine.

Each writer is a process: it writes a record, makes it durable, and only then prints its acknowledgement, one write(2)
of one line to the stdout that all share. The first process does no I/O on the storage: it prints a line a second to
show that it lives, and hears the end. Lines: ``fstui.probes.acks``; records and files: ``fstui.probes.records``.

stdin: settings as one JSON line (``directory`` to be made, ``run``, ``header``, ``streams``, ``seconds``,
``ops_per_s``), then ``stop REASON``; a closed stdin is a stop as well. stderr, for the engine: JSON lines ``ready``,
``failed`` (before the first record), ``ended``. The directory stays: it is read back after the cut.
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

from fstui.probes.records import ENDED, Stream
from fstui.probes.talk import CallError, calling, clock, read_settings

ALIVE_S = 1.0
STOP_NS = 5_000_000_000
"""So long an operation in flight is waited for after a stop."""
NAP_S = 0.05
GONE = "the reader of its acknowledgements has gone"
FLAGS = {
    "fsync": 0,
    "fdatasync": 0,
    "O_DSYNC": os.O_DSYNC,
    "O_DIRECT+O_DSYNC": os.O_DIRECT | os.O_DSYNC,
}
SYNCS: dict[str, Callable[[int], None]] = {"fsync": os.fsync, "fdatasync": os.fdatasync}
_PLAIN = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def report(**fields: Any) -> None:
    """One line for the engine, who may be gone."""
    with suppress(OSError):
        os.write(2, json.dumps(fields).encode() + b"\n")


def sync_directory(path: str) -> None:
    fd = calling("open", os.open, path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        calling("fsync", os.fsync, fd)
    finally:
        os.close(fd)


def prepare(directory: str, run: str, streams: list[Stream]) -> None:
    """Make the directory and what is overwritten, all of it durable. Raises CallError."""
    calling("mkdir", os.mkdir, directory, 0o700)
    for stream in streams:
        home = f"{directory}/w{stream.writer}"
        calling("mkdir", os.mkdir, home, 0o700)
        fill(stream, home, run)
        sync_directory(home)
    sync_directory(directory)
    sync_directory(os.path.dirname(directory))


def fill(stream: Stream, home: str, run: str) -> None:
    """The records that the first round overwrites; for the others, see that such a file can be opened."""
    fd = calling("open", os.open, f"{home}/0", _PLAIN | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if stream.goes_round:
            for sequence in range(stream.per_file):
                write_all(fd, stream.pack(run, sequence), stream.place(sequence)[1])
            calling("fsync", os.fsync, fd)
        os.close(calling("open", os.open, f"{home}/0", _PLAIN | FLAGS[stream.sync]))
        if not stream.goes_round:
            calling("unlink", os.unlink, f"{home}/0")
    finally:
        os.close(fd)


def write_all(fd: int, block: bytes | mmap.mmap, offset: int) -> None:
    """A record goes down in one call; what makes a call short comes as the error of the next."""
    done = calling("pwrite", os.pwrite, fd, block, offset)
    if done < len(block):
        calling("pwrite", os.pwrite, fd, block[done:], offset + done)
        raise CallError("pwrite", OSError(5, f"only {done} of {len(block)} bytes at once"))


class Output:
    """One writer's files. A record is durable, by the chosen sync's word, when ``put`` returns."""

    def __init__(self, directory: str, run: str, stream: Stream) -> None:
        self.run = run
        self.stream = stream
        self.home = f"{directory}/w{stream.writer}"
        self.home_fd = calling("open", os.open, self.home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.flags = _PLAIN | FLAGS[stream.sync]
        if stream.writes == "append":
            self.flags |= os.O_APPEND
        self.sync = SYNCS.get(stream.sync)
        self.buffer = mmap.mmap(-1, stream.block_bytes)  # page-aligned, as O_DIRECT wants it
        self.number = -1
        self.fd = -1

    def put(self, sequence: int) -> None:
        """Write the record and make it durable. Raises CallError."""
        number, offset = self.stream.place(sequence)
        new = number != self.number
        if new:
            self.open(number)
        self.buffer[:] = self.stream.pack(self.run, sequence)
        write_all(self.fd, self.buffer, offset)
        if self.sync:
            calling(self.stream.sync, self.sync, self.fd)
        if new and not self.stream.goes_round and self.stream.syncs_directory:
            calling("fsync of the directory", os.fsync, self.home_fd)

    def open(self, number: int) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        new = 0 if self.stream.goes_round else os.O_CREAT | os.O_EXCL
        self.fd = calling("open", os.open, f"{self.home}/{number}", self.flags | new, 0o600)
        self.number = number

    def retire(self, sequence: int) -> None:
        """This record was acknowledged: the file that is too old now goes."""
        number, offset = self.stream.place(sequence)
        old = number - self.stream.kept_files
        if offset == 0 and old >= 0 and not self.stream.goes_round:
            calling("unlink", os.unlink, f"{self.home}/{old}")


def write_records(output: Output, began_ns: int, pause_ns: int, stopping: Callable[[], bool]) -> None:
    """Until the stop. Raises CallError; BrokenPipeError where nobody reads the acknowledgements any more."""
    writer, sequence = output.stream.writer, output.stream.first
    due = clock()
    while not stopping():
        if pause_ns and (early := due - clock()) > 0:
            time.sleep(min(early / 1e9, NAP_S))
            continue
        due = max(due + pause_ns, clock() - pause_ns)  # no burst after a stall
        output.put(sequence)
        os.write(1, b"ack %d %d %d\n" % (writer, sequence, (clock() - began_ns) // 1_000_000))
        output.retire(sequence)
        sequence += 1


class Coordinator:
    """Forks what does I/O, and hears whoever is first: the engine, the clock, a writer that failed, the reader."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.directory: str = settings["directory"]
        self.run: str = settings["run"]
        self.streams = [Stream(*stream) for stream in settings["streams"]]
        self.header: str = settings["header"]
        self.length_ns = int(settings["seconds"] * 1e9)
        self.pause_ns = int(1e9 / settings["ops_per_s"]) if settings["ops_per_s"] else 0
        self.stop_flag = mmap.mmap(-1, 8)
        self.pid = os.getpid()
        self.began_ns = 0
        self.children: list[int] = []
        self.heard = b""

    def go(self) -> int:
        """The exit status."""
        if not self.prepared():
            return 2
        self.began_ns = clock()
        try:
            write_line(self.header.encode() + b"\n")
        except BrokenPipeError:
            return self.end(GONE)
        report(ready=True)
        failures_out, failures_in = os.pipe()
        for stream in self.streams:
            self.children.append(fork(lambda stream=stream: self.writer(stream, failures_in)))  # type: ignore[misc]
        os.close(failures_in)
        return self.end(self.watch(failures_out))

    def prepared(self) -> bool:
        """In a child: it is left where the storage hangs."""
        said_out, said_in = os.pipe()
        child = fork(lambda: self.preparer(said_in))
        os.close(said_in)
        while not select.select([said_out], [], [], NAP_S)[0]:
            if (reason := self.stopped()) is not None:
                os.kill(child, signal.SIGKILL)
                report(failed=f"stopped before the first record: {reason}")
                return False
        said = os.read(said_out, 4096)
        os.waitpid(child, 0)
        if said:
            report(failed=said.decode())
        return not said

    def preparer(self, said_in: int) -> int:
        try:
            prepare(self.directory, self.run, self.streams)
        except CallError as failure:
            os.write(said_in, f"{failure.call}: {failure}".encode()[:1000])
            return 1
        return 0

    def writer(self, stream: Stream, failures_in: int) -> int:
        try:
            output = Output(self.directory, self.run, stream)
            write_records(output, self.began_ns, self.pause_ns, self.writer_is_to_stop)
        except BrokenPipeError:
            os.write(failures_in, GONE.encode() + b"\n")
        except CallError as failure:
            words = f"writer {stream.writer} ({stream.sync}, {stream.writes}) failed: {failure.call}: {failure}"
            os.write(failures_in, words.encode()[:1000] + b"\n")
            return 1
        return 0

    def writer_is_to_stop(self) -> bool:
        """Asked in a writer: the flag is set, or the first process was killed."""
        return bool(self.stop_flag[0]) or os.getppid() != self.pid

    def watch(self, failures: int) -> str:
        """Show that we live, until there is a reason to end."""
        due = clock()
        while True:
            if clock() >= due:
                due += int(ALIVE_S * 1e9)
                if select.select([], [1], [], 0)[1]:  # a reader who has stalled hears nothing more anyway
                    try:
                        write_line(b"alive %d\n" % self.elapsed_ms())
                    except BrokenPipeError:
                        return GONE
            if select.select([failures], [], [], NAP_S)[0]:
                return os.read(failures, 4096).decode().partition("\n")[0] or "its writers were killed"
            if (reason := self.stopped()) is not None:
                return reason
            if self.length_ns and clock() - self.began_ns >= self.length_ns:
                return "its time was over"

    def stopped(self) -> str | None:
        """The reason that came on stdin, or that stdin was closed."""
        if not select.select([0], [], [], 0)[0]:
            return None
        data = os.read(0, 4096)
        self.heard += data
        word, _, reason = self.heard.decode().partition("\n")[0].partition(" ")
        return reason if word == "stop" else None if data else "whoever started it has gone"

    def end(self, reason: str) -> int:
        """Stop the writers, leave the mark that no power was cut, and say so."""
        self.stop_flag[0] = 1
        until_ns = clock() + STOP_NS
        stuck = [child for child in self.children if not ended(child, until_ns)]
        mark = fork(lambda: self.mark(reason))
        marked = ended(mark, clock() + STOP_NS)
        if select.select([], [1], [], 0)[1]:
            with suppress(BrokenPipeError):
                write_line(b"end %d %s\n" % (self.elapsed_ms(), reason.replace("\n", " ").encode()))
        report(ended=reason, stuck=len(stuck), marked=marked)
        return 1 if "failed" in reason or stuck else 0

    def mark(self, reason: str) -> int:
        fd = os.open(f"{self.directory}/{ENDED}", os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        os.write(fd, reason.encode())
        os.fsync(fd)
        sync_directory(self.directory)
        return 0

    def elapsed_ms(self) -> int:
        return (clock() - self.began_ns) // 1_000_000


def write_line(line: bytes) -> None:
    """All of it; only a header can be too long for one write."""
    while line:
        line = line[os.write(1, line) :]


def fork(work: Callable[[], int]) -> int:
    """A child that does the work and ends with what it returns."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        status = work()
    except OSError as error:
        report(error=str(error))
    finally:
        os._exit(status)


def ended(child: int, until_ns: int) -> bool:
    """Reap it; False where it is stuck in the kernel: it is killed, and dies when the kernel lets it."""
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        if clock() > until_ns:
            os.kill(child, signal.SIGKILL)
            return False
        time.sleep(NAP_S)
    return True


def main() -> NoReturn:
    # a SIGHUP or Ctrl-C is for the engine: it says stop
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(Coordinator(read_settings()).go())


if __name__ == "__main__":
    main()
