"""What the probes say of their own sync path, in the run's document."""

from __future__ import annotations

import msgspec

from fstui.model.host import Process


def with_facts(process: Process, facts: dict[str, object]) -> Process:
    """The probe's own sync path, and the preloads that either of us saw."""
    seen = msgspec.convert(facts, Process)
    values = [reading.value for reading in seen.preloads]
    others = tuple(reading for reading in process.preloads if reading.value not in values)
    return msgspec.structs.replace(
        process,
        pipe_fsync_fails=seen.pipe_fsync_fails,
        futile_syncs=seen.futile_syncs,
        answered_like=seen.answered_like,
        left_dirty=seen.left_dirty,
        others_clean=seen.others_clean,
        dsync_flag_kept=seen.dsync_flag_kept,
        libc_sync_ns=seen.libc_sync_ns,
        raw_sync_ns=seen.raw_sync_ns,
        memory_write_ns=seen.memory_write_ns,
        memory_sync_ns=seen.memory_sync_ns,
        preloads=seen.preloads + others,
        cgroup=seen.cgroup or process.cgroup,
    )
