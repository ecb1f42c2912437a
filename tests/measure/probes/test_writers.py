"""The loop that all writers share, with a clock of its own, and the coordinator of several writers."""

import ctypes
import errno
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from fstui.measure.probes import sync_path, writers
from fstui.measure.probes.writers import (
    BLOCKED_NS,
    FIRST_POLL_INTERVAL_NS,
    MAX_PENDING_FRAMES,
    SEND_INTERVAL_NS,
    STOPPED,
    Batch,
    Shared,
    WriteLoop,
)
from fstui.measure.wire.frames import Decoder, Frame
from fstui.measure.wire.stdio import CallError, CommandLines, clock

BATCH_NS = 5_000_000
PTRACE_ATTACH, PTRACE_DETACH = 16, 17
PR_SET_PTRACER, PR_SET_PTRACER_ANY = 0x59616D61, ctypes.c_ulong(-1)
"""The option with which prctl(2) allows any process to trace this one, if the kernel restricts that (Yama)."""


class Played(WriteLoop):
    """A writer whose batches take 5 ms each. It records when it sends its samples."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, frames_per_batch: int, ops_per_batch: int = 1) -> None:
        super().__init__({"seconds": 1, "writers": 1}, Shared(1), 0)
        self._frames = [b""] * frames_per_batch
        self._ops_per_batch = ops_per_batch
        self._now_ns = 0
        self.sent_ns: list[int] = []
        monkeypatch.setattr(writers, "clock", lambda: self._now_ns)

    def batch_function(self) -> Batch:
        return self._batch

    def _batch(self, until_ns: int, remaining_ops: int) -> int:
        self._now_ns += BATCH_NS
        self.ops += self._ops_per_batch
        self.pending_frames += self._frames
        return self._now_ns

    def send_samples(self) -> None:
        self.pending_frames = []
        self.sent_ns.append(self._now_ns)


def test_samples_are_sent_four_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, frames_per_batch=1)
    played.run()
    assert played.sent_ns[:4] == [SEND_INTERVAL_NS * number for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(("ops_per_batch", "checks"), [(12, 1), (7, 2)])
def test_a_fast_step_sends_its_first_samples_early(
    monkeypatch: pytest.MonkeyPatch, ops_per_batch: int, checks: int
) -> None:
    played = Played(monkeypatch, frames_per_batch=1, ops_per_batch=ops_per_batch)
    played.run()
    first_ns = FIRST_POLL_INTERVAL_NS * checks
    assert played.sent_ns[:3] == [first_ns + SEND_INTERVAL_NS * number for number in range(3)]


def test_many_samples_are_sent_before_the_pipe_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    played = Played(monkeypatch, frames_per_batch=MAX_PENDING_FRAMES // 4)
    played.run()
    assert played.sent_ns[0] == 4 * BATCH_NS
    assert len(played.sent_ns) == 1_000_000_000 // (4 * BATCH_NS) + 1  # and once at the end


class SecondOfThree(WriteLoop):
    """Of these writers, the second does not get ready."""

    def __init__(self, settings: dict[str, Any], shared: Shared, number: int) -> None:
        super().__init__(settings, shared, number)
        if number == 1:
            self.fail()

    def fail(self) -> None:
        raise CallError("open", OSError(errno.EMFILE, "Too many open files"))

    def batch_function(self) -> Batch:
        raise AssertionError("no writer may begin")


class KilledSecond(SecondOfThree):
    def fail(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("kind", "reason"), [
    (SecondOfThree, ("open", errno.EMFILE, "[Errno 24] Too many open files", 1)),
    (KilledSecond, ("probe", None, "a writer ended early (signal 9)", 1)),
])  # fmt: skip
def test_writer_that_fails_before_ready_ends_all_with_its_reason(
    capfdbinary: pytest.CaptureFixture[bytes], kind: type[WriteLoop], reason: tuple[object, ...]
) -> None:
    assert not writers.measure(kind, {"seconds": 1, "writers": 3})
    (error,) = Decoder().feed(capfdbinary.readouterr().out)
    assert isinstance(error, Frame) and error.kind == "error"
    assert tuple(error.fields[name] for name in ("call", "errno", "message", "writer")) == reason


class Stopped(WriteLoop):
    """A writer that is stopped in its only operation until the coordinator has counted more than BLOCKED_NS."""

    def batch_function(self) -> Batch:
        return self._batch

    def _batch(self, until_ns: int, remaining_ops: int) -> int:
        writer = os.getpid()
        if not os.fork():
            try:
                while self.state[STOPPED] <= BLOCKED_NS:
                    os.kill(self.coordinator, 0)  # fails if the test was killed
            finally:
                os.kill(writer, signal.SIGCONT)
                os._exit(0)
        os.kill(writer, signal.SIGSTOP)
        self.ops = self.max_ops = 1
        return clock()


class Traced(WriteLoop):
    """A writer that a debugger stops in its only operation until the coordinator has counted more than BLOCKED_NS."""

    def batch_function(self) -> Batch:
        return self._batch

    def _batch(self, until_ns: int, remaining_ops: int) -> int:
        writer, libc = os.getpid(), ctypes.CDLL(None)
        libc.prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)
        read_end, write_end = os.pipe()
        if not os.fork():
            libc.ptrace(PTRACE_ATTACH, writer, None, None)
            while self.state[STOPPED] <= BLOCKED_NS:
                os.kill(self.coordinator, 0)  # if the test was killed, this fails, and the end of this process detaches
            libc.ptrace(PTRACE_DETACH, writer, None, None)
            os._exit(os.write(write_end, b"x") - 1)
        os.read(read_end, 1)
        self.ops = self.max_ops = 1
        return clock()


class Continued(Stopped):
    """A writer whose coordinator was stopped and continues during the only operation."""

    def _batch(self, until_ns: int, remaining_ops: int) -> int:
        while not self.state[STOPPED]:
            os.kill(self.coordinator, signal.SIGCONT)  # again and again, because it may not yet have a handler
        self.ops = self.max_ops = 1
        return clock()


@pytest.fixture
def go() -> Iterator[None]:
    """A stdin from which the coordinator reads the command ``go``."""
    stdin, (read_end, write_end) = os.dup(0), os.pipe()
    os.write(write_end, b"go\n")
    os.dup2(read_end, 0)
    yield
    os.dup2(stdin, 0)
    for fd in (stdin, read_end, write_end):
        os.close(fd)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("kind", "at_least_ns"), [(Stopped, BLOCKED_NS), (Traced, BLOCKED_NS), (Continued, 1)])
@pytest.mark.usefixtures("go")
def test_time_in_which_a_writer_is_stopped_is_without_a_cpu(
    capfdbinary: pytest.CaptureFixture[bytes], kind: type[WriteLoop], at_least_ns: int
) -> None:
    assert writers.measure(kind, {"seconds": 0, "writers": 1})
    frames = [frame for frame in Decoder().feed(capfdbinary.readouterr().out) if isinstance(frame, Frame)]
    assert [frame.kind for frame in frames] == ["ready", "done"], "no call of a stopped writer is reported as blocked"
    assert frames[-1].fields["longest_cpu_wait_ns"] >= at_least_ns


class Turns(CommandLines):
    """No command arrives, and the writers have ended after a number of turns."""

    def __init__(self, turns: int) -> None:
        super().__init__()
        self.left = turns

    def wait_until_closed(self, fd: int, timeout_s: float) -> bool:
        self.left -= 1
        return not self.left


def test_loop_workers_are_read_once_per_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    devices: list[int] = []

    def read_workers(device: int) -> bool:
        devices.append(device)
        return False

    monkeypatch.setattr(sync_path, "is_frozen_below_loop", read_workers)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    shared = Shared(16)
    for number in range(16):
        shared.state_of(number)[writers.LAST_CHECK] = clock() - 2 * writers.POLL_INTERVAL_NS
    writers.watch([os.getpid()] * 16, -1, shared, Turns(3), os.makedev(7, 1))
    assert devices == [os.makedev(7, 1)] * 3
