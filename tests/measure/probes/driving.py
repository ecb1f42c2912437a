"""Drive a probe as the engine does: settings and commands in, frames out."""

import asyncio
import json
import os
import select
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil
from msgspec.structs import asdict

from fstui.measure.children import command
from fstui.measure.kinds.sync_writes import SyncWrites
from fstui.measure.wire.frames import Decoder, Frame, Samples
from fstui.model.events import Event
from fstui.model.plan import PlannedStep
from fstui.model.settings import Settings
from fstui.model.steps import Step
from fstui.runs.machine.local import LocalMachine
from fstui.runs.stepping import StepRunner
from fstui.state.workspace import HeldDirectory
from tests.factories.directories import held


def measure_step(
    directory: Path, settings: Settings, hear: Callable[[Event], None] = lambda event: None, *, facts: bool = False
) -> Step:
    """Run a step with these settings on this host."""
    runner = StepRunner(0, PlannedStep(name="step", settings=settings), LocalMachine(), (), hear)
    return asyncio.run(runner.run(held(directory), report_facts=facts))


DEADLINE_S = 60.0
"""A probe that is silent for this time fails the test instead of hanging it."""


class RunningProbe:
    """A running probe. The end of the block closes its stdin and checks that all its processes end without a traceback.

    All of them inherit stderr, so the end of stderr shows that they have ended. ``under``: the prefix of its command.
    """

    def __init__(
        self,
        directory: Path,
        meant: HeldDirectory | None = None,
        *,
        facts: bool = False,
        before_settings: Callable[[int], object] | None = None,
        stderr: int | None = subprocess.PIPE,
        under: tuple[str, ...] = (),
        **settings: Any,
    ) -> None:
        self.path = directory / "data"
        self.process = subprocess.Popen(
            [*under, *command("measure.probes.sync_writes")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        if before_settings:
            before_settings(self.process.pid)
        self.heard: list[Frame | Samples] = []
        self._frames = self._read()
        asked = SyncWrites(**{"file_bytes": 1 << 20, "seconds": 0.05, **settings})
        here = (meant or held(directory)).as_settings
        self.say(json.dumps({**asdict(asked), **here, "path": "data", "facts": facts}))

    def say(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def until(self, *kinds: str) -> Frame:
        """Return the next frame of one of these kinds."""
        for frame in self._frames:
            if isinstance(frame, Frame) and frame.kind in kinds:
                return frame
        raise AssertionError(f"no {kinds} among {[getattr(frame, 'kind', 'samples') for frame in self.heard]}")

    def until_samples(self) -> Samples:
        return next(frame for frame in self._frames if isinstance(frame, Samples))

    def measure(self) -> Frame:
        """Run it from the start to ``done``."""
        self.until("ready")
        self.say("go")
        return self.until("done")

    def hang_up(self) -> int:
        """Close its stdin, and return its exit status when all its processes have ended."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.wait_for_all()
        self.process.stdout.close()
        return self.process.wait()

    def wait_for_all(self) -> None:
        """Read its output until all its processes have ended."""
        for _ in self._frames:
            pass
        assert self.process.stderr
        wait_for_end_of(self.process.stderr.fileno())

    @property
    def samples(self) -> list[Samples]:
        return [frame for frame in self.heard if isinstance(frame, Samples)]

    @property
    def errors(self) -> list[dict[str, Any]]:
        return [frame.fields for frame in self.heard if isinstance(frame, Frame) and frame.kind == "error"]

    @property
    def ops(self) -> int:
        return sum(len(samples.ends_ns) for samples in self.samples)

    def writers(self) -> list[int]:
        """Return the process ids of its writers."""
        return [child.pid for child in psutil.Process(self.process.pid).children()]

    def _read(self) -> Iterator[Frame | Samples]:
        decoder = Decoder()
        assert self.process.stdout
        out = self.process.stdout.fileno()
        while True:
            assert select.select([out], [], [], DEADLINE_S)[0], "the probe has printed nothing for a minute"
            data = os.read(out, 1 << 16)
            if not data:
                return
            for frame in decoder.feed(data):
                self.heard.append(frame)
                yield frame

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.process.stdin
        assert self.process.stderr
        if error:
            self.process.kill()
        elif not self.process.stdin.closed:
            self.hang_up()
        self.process.stderr.close()


def wait_for_end_of(stderr: int) -> None:
    """Wait until all processes that could write to stderr have ended. None may have written anything."""
    assert select.select([stderr], [], [], DEADLINE_S)[0], "a process of the probe is still there"
    assert os.read(stderr, 1 << 16) == b""
