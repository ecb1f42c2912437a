"""What the probes say of their own sync path, in the run's document."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fstui.model.host import Process


def with_answers(process: Process, futile: Mapping[str, tuple[int, int]]) -> Process:
    """With what was answered in the kernel's place while a step was measured."""
    seen = dict(process.futile_syncs)
    for call, (tried, answered) in futile.items():
        before = seen.get(call, (0, 0))
        seen[call] = (before[0] + tried, before[1] + answered)
    return msgspec.structs.replace(process, futile_syncs=seen)


def with_facts(process: Process, facts: dict[str, object]) -> Process:
    """The probe's own sync path, and the preloads that either of us saw."""
    seen = msgspec.convert(facts, Process)
    values = [reading.value for reading in seen.preloads]
    others = tuple(reading for reading in process.preloads if reading.value not in values)
    return msgspec.structs.replace(
        process,
        pipe_fsync_fails=seen.pipe_fsync_fails,
        futile_syncs=seen.futile_syncs,
        dsync_flag_kept=seen.dsync_flag_kept,
        libc_sync_ns=seen.libc_sync_ns,
        raw_sync_ns=seen.raw_sync_ns,
        memory_write_ns=seen.memory_write_ns,
        memory_sync_ns=seen.memory_sync_ns,
        preloads=seen.preloads + others,
        cgroup=seen.cgroup or process.cgroup,
    )
