"""*not-durable, medium confidence*

## What it means
Writes and their syncs returned in less time than any device needs to answer, and none is known to lie beneath: nothing
can have been written anywhere but to memory. So it is in a container whose overlay is on a tmpfs that cannot be seen
from inside.

## How it was measured
The typical time of fsync or fdatasync after a buffered write of fresh data, by one writer: under 5 µs, or under eight
times that of a file which is known to be in memory (memfd), as an emulated processor is twenty times as slow. The write
itself took under 20 µs, or under four times one to that file, so that it cannot have done the work either. A sync of a
tmpfs took 0.2 to 2 µs, one that reaches even a RAM disk 12 µs, a loop device without a flush 33 µs. Nothing is
said where memory was not measured, nor before Linux 5.8, which does not tell of DAX; gVisor, which says 4.19, has none:
the upper layer of its root is a tmpfs of its own, were it in a file (gvisor.dev, Filesystem).

## What it proves, and what not
No device was moved, by the time alone. It says nothing where a device is known beneath: there the counters speak
(`bytes-missing`). Nothing of shares and FUSE, where a write may have been passed on at once, nor of persistent memory
with DAX (statx tells, through an overlay too), where a sync has only the processor's caches to write back.

## What to do next
Ask on the host what the directory lies on: `docker inspect`, `findmnt`. Run fstui in a volume that is on a disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.stack import Stack
from fstui.judge.facts.steps import SyncStep
from fstui.model.host import Process
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns
from fstui.model.steps import Latency
from fstui.storage.layers import kind
from fstui.storage.layers.facts import dax

NO_DEVICE_NS = 5_000
"""The system call alone takes a twentieth of it, the quickest device that is known twice as long."""
NO_WORK_NS = 20_000
"""16 KiB are copied into the page cache in a fifth of it; a write that is synced by itself takes longer."""
AS_MEMORY, WRITTEN_AS_MEMORY = 8, 4
"""Times what memory takes: a RAM disk's sync takes 60 times as long as a memfd's; an overlay adds its own to both."""
_TELLS_DAX = (5, 8)
"""The first Linux whose statx does (STATX_ATTR_DAX). A sync with DAX took only twice as long as one of a memfd."""


@rule(place=25)
def sync_too_quick(case: Case) -> Iterator[Finding]:
    """Nothing is known to lie beneath, and nothing could have answered so soon."""
    if case.configuration.breaks_sync or not _out_of_sight(case.stack) or not _tells_dax(case.evidence.host.kernel):
        return
    limits = _limits(case.evidence.process)
    quick = tuple(done for done in case.steps.synced if done.overwrites_alone and _is_too_quick(done, limits))
    if quick:
        top, worst = case.stack.nodes[0], min(quick, key=_sync_ns)
        took = duration_ns(_sync_ns(worst))
        yield Finding(
            rule="sync-too-quick",
            verdict="not-durable",
            confidence="medium",
            scope="storage",
            title=f"a sync takes {took}: no device can answer so soon",
            sentence=f"{worst.call} returned after {took} in {words.time_measured([worst.step])}, and no device is "
            f"known beneath {words.named(top)}: none can have answered so soon, so what was synced is in memory.",
            steps=words.names(done.step for done in quick),
            because=(
                *(f"{done.step.name}: {duration_ns(_sync_ns(done))}" for done in quick),
                *_of_memory(case.evidence.process),
            ),
            next=("Ask on the host what this directory lies on: docker inspect, findmnt.",),
        )


def _out_of_sight(stack: Stack) -> bool:
    """No device is known, and no server or program that may have been given the data by the write; no DAX."""
    remote = any(kind(node.kind).remote for node in stack.nodes)
    past_cache = any(told.value for filesystem in stack.filesystems if (told := dax(filesystem)))
    return bool(stack.nodes) and not stack.lowest and not remote and not past_cache


def _limits(process: Process) -> tuple[int, int]:
    """Below which a sync, and the write before it, can have given nothing to a device, in ns; nothing is below them
    where memory was not measured."""
    if process.memory_sync_ns is None or process.memory_write_ns is None:
        return 0, 0
    sync_ns, write_ns = AS_MEMORY * process.memory_sync_ns, WRITTEN_AS_MEMORY * process.memory_write_ns
    return max(NO_DEVICE_NS, sync_ns), max(NO_WORK_NS, write_ns)


def _tells_dax(kernel: str) -> bool:
    release = re.match(r"(\d+)\.(\d+)", kernel)
    if kernel.endswith("-gvisor"):
        return True
    return release is not None and (int(release[1]), int(release[2])) >= _TELLS_DAX


def _of_memory(process: Process) -> Iterator[str]:
    if process.memory_sync_ns is not None:
        yield f"a file known to be in memory: {duration_ns(process.memory_sync_ns)}"


def _is_too_quick(done: SyncStep, limits: tuple[int, int]) -> bool:
    by_call = done.sync is not None and done.sync.by_call and not done.direct
    quickest_ns, no_work_ns = limits
    return by_call and 0 < _sync_ns(done) < quickest_ns and _p50(done.step.write_ns) < no_work_ns


def _sync_ns(done: SyncStep) -> int:
    return _p50(done.step.sync_ns)


def _p50(latency: Latency | None) -> int:
    return latency.p50 if latency else 0
