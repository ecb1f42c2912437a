"""Large amounts: 2 h of latency-watch, 10⁸ samples, 10 000 saved runs, 10 000 mounts and devices.

Memory must stay constant, keys fast, and an idle screen cheap. Samples are fed to the engine at full speed, and times
are CPU times of this process, so that a busy host does not matter. ``--share 0.01`` runs a hundredth of each,
``--parts`` selects.
"""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from pathlib import Path

import psutil
from msgspec.structs import replace

from fstui.measure.probes.files import MAX_POOL_BLOCKS
from fstui.measure.wire.frames import Decoder, encode_samples
from fstui.model.counters import Counters
from fstui.model.documents import with_digest
from fstui.model.host import Inventory
from fstui.model.storage import Node
from fstui.runs.machine.local import LocalMachine
from fstui.runs.recorder import StepRecorder
from fstui.runs.session import Session
from fstui.state import runs
from fstui.storage.counters import read_counters
from fstui.storage.hotplug import Watch
from fstui.storage.survey import survey
from fstui.tui.app import FstuiApp
from fstui.tui.screens.history import HistoryScreen
from fstui.tui.screens.storage import StorageScreen
from tests.factories.crowd import crowd
from tests.factories.runs import START_NS, counted, planned, saved, target
from tests.factories.saved_runs import save

MIB = 1 << 20
HAND_OVER = MAX_POOL_BLOCKS
"""Operations in one frame of a writer."""
LOOKS_PER_S, DRAWS_PER_S = 8, 4
Part = Callable[[float], Iterator[bool]]
"""A function of the share of the full amount. It yields whether each figure is within its budget."""
KEY_MS, IDLE_SHARE, GROWTH_MIB, SAMPLES_SHARE = 50.0, 0.12, 2.0, 0.25


def main(argv: list[str]) -> int:
    """Print a line for each figure. Return 1 if a budget is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench long")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="fstui-bench-", dir="/dev/shm") as home:
        os.environ |= {"XDG_STATE_HOME": f"{home}/state", "XDG_CONFIG_HOME": f"{home}/config"}
        found = [kept for part in options.parts for kept in PARTS[part](options.share)]
    return 0 if all(found) else 1


def told(what: str, value: float, unit: str, budget: float) -> bool:
    """Print one figure, and whether it is within its budget."""
    kept = value <= budget
    print(f"{what:<52} {value:9.2f} {unit:<12} budget {budget:g}  {'kept' if kept else 'MISSED'}", flush=True)
    return kept


def watched(share: float) -> Iterator[bool]:
    """2 h of latency-watch, 5 operations per second, drawn four times per second."""
    seconds = max(60, int(7200 * share))
    recorder = begun(seconds=0)
    chance, now_ns, grown = random.Random(1), START_NS, Growth()
    began = time.process_time()
    for second in range(seconds):
        for look in range(LOOKS_PER_S):
            now_ns += 10**9 // LOOKS_PER_S
            if look % 2 == 0:
                feed(recorder, now_ns - 90_000_000, [chance.randrange(10**6, 5 * 10**7)])
            recorder.add_counters(
                Counters(monotonic_ns=now_ns, until_ns=now_ns + 10_000, devices=(counted(second, second),))
            )
            if look % (LOOKS_PER_S // DRAWS_PER_S) == 0:
                recorder.snapshot(now_ns)
        grown.look(second / seconds)
    spent = (time.process_time() - began) / seconds
    yield told(f"latency-watch, {seconds / 3600:.2f} h: memory grown", grown.mib, "MiB", GROWTH_MIB)
    yield told("… engine, of a core", 100 * spent, "%", 12)


def samples(share: float) -> Iterator[bool]:
    """10⁸ samples through the wire's frames, drawn as often as at 1.35 million per second."""
    wanted, per_s = int(10**8 * share), 1_350_000
    recorder, decoder, grown = begun(seconds=0), Decoder(), Growth()
    frames = [_frames(seed) for seed in range(8)]
    done, began = 0, time.process_time()
    while done < wanted:
        data, ops, _ = frames[done // HAND_OVER % len(frames)]
        for frame in decoder.feed(data):
            recorder.add_samples(frame)  # type: ignore[arg-type]
        done += ops
        if done % (per_s // DRAWS_PER_S) < ops:
            recorder.snapshot(START_NS + 10**10)
        grown.look(done / wanted)
    spent = time.process_time() - began
    yield told(f"{wanted:.0e} samples: memory grown", grown.mib, "MiB", GROWTH_MIB)
    yield told(f"… engine at {per_s / 1e6} M samples/s, of a core", 100 * spent / wanted * per_s, "%", 25)


def _frames(seed: int) -> tuple[bytes, int, int]:
    """Return the data of one read of a pipe: 20 frames of one writer, with operations of about 700 ns."""
    chance, at, pieces = random.Random(seed), START_NS, []
    for _ in range(20):
        marks = list(accumulate((chance.randrange(200, 1200) for _ in range(2 * HAND_OVER)), initial=at))[1:]
        pieces += list(encode_samples(0, 2, at, marks))
        at = marks[-1]
    return b"".join(pieces), 20 * HAND_OVER, at


def saved_runs(share: float) -> Iterator[bool]:
    """10 000 saved runs: the list, its screen, and the start of the app."""
    many = int(10_000 * share)
    run = saved()
    for number in range(many):
        stamp = f"2026-11-20T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}+01:00"
        save(with_digest(replace(run, id=f"r{number:06}", started_at=stamp)))
    began = time.process_time()
    runs.history()
    yield told(f"{many} saved runs: listed in", time.process_time() - began, "s of CPU", 5.0 * share + 0.5)
    yield told("… a key in the history", asyncio.run(_keys(HistoryScreen())), "ms of CPU", KEY_MS)


async def _keys(screen: HistoryScreen) -> float:
    app = FstuiApp(Session.local(), None)
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(screen)
        while screen.rows is None:
            await pilot.pause(0.1)
        return await key_ms(pilot.press, "down")


def mounts(share: float) -> Iterator[bool]:
    """10 000 mounts and devices: one key, and an idle second."""
    many = int(10_000 * share)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as place:
        box, _ = crowd(Path(place) / "box", many)
        yield from asyncio.run(_crowded(box.root, many))


class CrowdedMachine(LocalMachine):
    """A host whose /proc and /sys are below another directory."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._watch = Watch(root)

    def survey(self) -> Inventory:
        self._newest_inventory = survey(self._root)
        return self._newest_inventory

    def counters(self, stack: Iterable[Node]) -> Counters:
        return read_counters(tuple(stack), self._root)


async def _crowded(root: Path, many: int) -> list[bool]:
    app = FstuiApp(Session(CrowdedMachine(root)), None)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        assert isinstance(screen, StorageScreen)
        screen.workers.cancel_all()  # made-up mounts have no statvfs
        key = await key_ms(pilot.press, "down")
        began, since, grown = time.process_time(), time.monotonic(), Growth()
        for tenth in range(10):
            await pilot.pause(1.0)
            grown.look(tenth / 9)
        idle = (time.process_time() - began) / (time.monotonic() - since)
    return [
        told(f"{many} mounts and devices: a key", key, "ms of CPU", KEY_MS),
        told("… idle, of a core", 100 * idle, "%", 100 * IDLE_SHARE),
        told("… memory grown in 10 s", grown.mib, "MiB", GROWTH_MIB),
    ]


async def key_ms(press: Callable[[str], object], key: str) -> float:
    """Return the CPU time of a key, the average of twenty."""
    await press(key)  # type: ignore[misc]
    began = time.process_time()
    for _ in range(20):
        await press(key)  # type: ignore[misc]
    return 1000 * (time.process_time() - began) / 20


def begun(seconds: float) -> StepRecorder:
    recorder = StepRecorder(0, planned("fdatasync", sync="fdatasync", seconds=seconds), target().stack)
    recorder.begin(Counters(monotonic_ns=START_NS, until_ns=START_NS + 10_000, devices=(counted(0, 0),)))
    return recorder


def feed(recorder: StepRecorder, at_ns: int, latencies_ns: list[int]) -> None:
    """Add consecutive operations of one writer through the frames."""
    marks = [mark for end in accumulate(latencies_ns, initial=at_ns) for mark in (end - 1000, end)][2:]
    for frame in Decoder().feed(b"".join(encode_samples(0, 2, at_ns, marks))):
        recorder.add_samples(frame)  # type: ignore[arg-type]


class Growth:
    """Memory after the first fifth of the work, when everything necessary exists, and after all of it."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._first: int | None = None
        self.mib = 0.0

    def look(self, share: float) -> None:
        """Record that this share of the work is done."""
        if self._first is None and share >= 0.2:
            self._first = self._process.memory_info().rss
        if self._first is not None and share > 0.98:
            self.mib = (self._process.memory_info().rss - self._first) / MIB


PARTS: dict[str, Part] = {
    "watched": watched,
    "samples": samples,
    "runs": saved_runs,
    "mounts": mounts,
}
