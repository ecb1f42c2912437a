"""Child: the writer of the power-cut check. Its stdout is not for its parent but for a witness on another machine.

Each writer is a process: it writes a record, makes it durable, and only then prints its acknowledgement, one write(2)
of one line to the stdout that all share. The first process does no I/O on the storage: it prints a line a second to
show that it lives, and hears the end. Lines: ``fstui.powercut.log``; records and files: ``fstui.powercut.records``.

stdin: settings as one JSON line (``directory`` to be made, ``run``, ``header``, ``streams``, ``seconds``, ``pace``),
then ``stop REASON``; a closed stdin is a stop as well. stderr, for the parent: JSON lines ``ready``, ``refused``
(before the first record), ``ended`` with ``failed``. The directory stays: it is read back after the cut.
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
from typing import Any, NamedTuple, NoReturn

from fstui.measure.wire.held import enter
from fstui.measure.wire.talk import CallError, calling, clock, read_settings
from fstui.powercut.log import FAILED, GONE
from fstui.powercut.output import Output, prepare, sync_directory
from fstui.powercut.records import ENDED, Stream

ALIVE_S = 1.0
STOP_NS = 5_000_000_000
"""So long an operation in flight is waited for after a stop."""
NAP_S = 0.05


class Why(NamedTuple):
    """Why it ends, other than by a power cut."""

    reason: str
    failed: bool = False


def report(**fields: Any) -> None:
    """One line for the parent, who may be gone."""
    with suppress(OSError):
        os.write(2, json.dumps(fields).encode() + b"\n")


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
    """Forks what does I/O, and hears whoever is first: the parent, the clock, a writer that failed, the reader."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.directory: str = settings["directory"]
        self.run: str = settings["run"]
        self.streams = [Stream(*stream) for stream in settings["streams"]]
        self.header: str = settings["header"]
        self.identity: list[int] = []
        self.length_ns = int(settings["seconds"] * 1e9)
        self.pause_ns = int(1e9 / settings["pace"]) if settings["pace"] else 0
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
            return self.end(Why(GONE))
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
                report(refused=f"stopped before the first record: {reason}")
                return False
        said = json.loads(os.read(said_out, 4096) or b'{"refused": "it was killed"}')
        os.waitpid(child, 0)
        if "refused" in said:
            report(**said)
            return False
        self.identity = said["identity"]
        return True

    def preparer(self, said_in: int) -> int:
        try:
            said: dict[str, Any] = {"identity": prepare(self.directory, self.run, self.streams)}
        except CallError as failure:
            said = {"refused": f"{failure.call}: {failure}"[:1000]}
        os.write(said_in, json.dumps(said).encode())
        return 0

    def enter(self) -> None:
        """In a child: what it writes lies in the directory that was made, whatever its name leads to by now."""
        calling("chdir", enter, self.directory, self.identity)

    def writer(self, stream: Stream, failures_in: int) -> int:
        try:
            self.enter()
            output = Output(self.run, stream)
            write_records(output, self.began_ns, self.pause_ns, self.writer_is_to_stop)
        except BrokenPipeError:
            os.write(failures_in, GONE.encode() + b"\n")
        except CallError as failure:
            words = f"writer {stream.writer} ({stream.sync}, {stream.writes}): {failure.call}: {failure}"
            os.write(failures_in, words.encode()[:1000] + b"\n")
            return 1
        return 0

    def writer_is_to_stop(self) -> bool:
        """Asked in a writer: the flag is set, or the first process was killed."""
        return bool(self.stop_flag[0]) or os.getppid() != self.pid

    def watch(self, failures: int) -> Why:
        """Show that we live, until there is a reason to end."""
        due = clock()
        while True:
            if clock() >= due:
                due += int(ALIVE_S * 1e9)
                if not self.said(b"alive %d\n" % self.elapsed_ms()):
                    return Why(GONE)
            if select.select([failures], [], [], NAP_S)[0]:
                words = os.read(failures, 4096).decode().partition("\n")[0]
                return Why(words or "its writers were killed", failed=words != GONE)
            if (reason := self.stopped()) is not None:
                return Why(reason)
            if self.length_ns and clock() - self.began_ns >= self.length_ns:
                return Why("its time was over")

    def said(self, line: bytes) -> bool:
        """Print it, unless the reader has stalled: it hears nothing more anyway. False: there is none any more."""
        try:
            if select.select([], [1], [], 0)[1]:
                write_line(line)
        except BrokenPipeError:
            return False
        return True

    def stopped(self) -> str | None:
        """The reason that came on stdin, or that stdin was closed."""
        if not select.select([0], [], [], 0)[0]:
            return None
        data = os.read(0, 4096)
        self.heard += data
        word, _, reason = self.heard.decode().partition("\n")[0].partition(" ")
        return reason if word == "stop" else None if data else "whoever started it has gone"

    def end(self, why: Why) -> int:
        """Stop the writers, leave the mark that no power was cut, and say so."""
        self.stop_flag[0] = 1
        until_ns = clock() + STOP_NS
        for child in self.children:
            ended(child, until_ns)
        mark = fork(lambda: self.mark(why.reason))
        ended(mark, clock() + STOP_NS)
        reason = (FAILED if why.failed else "") + why.reason.replace("\n", " ")
        self.said(b"end %d %s\n" % (self.elapsed_ms(), reason.encode()))
        report(ended=why.reason, failed=why.failed)
        return 1 if why.failed else 0

    def mark(self, reason: str) -> int:
        try:
            self.enter()
            fd = os.open(ENDED, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.write(fd, reason.encode())
            os.fsync(fd)
            sync_directory(".")
        except CallError:
            return 1
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
    # a SIGHUP or Ctrl-C is for the parent: it says stop
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(Coordinator(read_settings()).go())


if __name__ == "__main__":
    main()
