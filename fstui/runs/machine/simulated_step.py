"""One step on a simulated box, as the frames that its probe would have sent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from fstui.measure.wire.frames import Frame, Samples
from fstui.runs.machine.played import PlayedProbe
from fstui.simulate.programs import Program

if TYPE_CHECKING:
    from fstui.runs.machine.simulated import SimulatedMachine

CHUNK_NS = 50e6
"""So much of the model's time at once: what a probe hands over at a time."""
FILE_S = 0.1
"""What writing its file takes, more or less: it does not count."""


class SimulatedProbe(PlayedProbe):
    """One step."""

    def __init__(self, machine: SimulatedMachine, work: Program, facts: bool) -> None:
        super().__init__()
        self._machine, self._work, self._facts = machine, work, facts

    async def frames(self) -> AsyncIterator[Frame | Samples]:
        machine, work = self._machine, self._work
        if self._facts:
            yield Frame("facts", self._sync_path())
        await machine.wait(FILE_S)
        yield Frame("ready", {})
        await self._gone.wait()
        work.begin()
        while not (work.over or self._stopped):
            until_ns = machine.box.now_ns + CHUNK_NS
            for done in work.until(until_ns):
                yield Samples.of(done.writer, done.parts, done.start_ns, done.marks)
            await machine.pass_time(work.ended_ns if work.over else max(until_ns, work.ended_ns))
        if work.figures:
            yield Frame("figures", work.figures)
        end_ns = work.ended_ns if work.over else machine.box.now_ns
        yield Frame("done", {"start_ns": int(work.started_ns), "end_ns": int(end_ns), "held_ns": 0})

    def _sync_path(self) -> dict[str, object]:
        host, stubbed = self._machine.made.host, self._machine.made.host.syncs_stubbed
        honest_ns = 101_000
        return {
            "pipe_fsync_fails": not stubbed,
            "dsync_flag_kept": not stubbed,
            "libc_sync_ns": round(host.syscall_us * 1e3) if stubbed else honest_ns,
            "raw_sync_ns": honest_ns - 2_000,
            "preloads": [{"what": "preload", "value": "/usr/lib/libeatmydata.so", "path": "simulated:/proc/self/maps"}]
            * stubbed,
        }
