"""A state of ``fstui watch --at-risk``: a message server that syncs seldom, and a database that syncs each write."""

from typing import Any

from fstui.model.at_risk import (
    AtRisk,
    AtRiskSecond,
    FileAtRisk,
    NamesAtRisk,
    ProgramAtRisk,
    UnsafeMount,
    WriteCacheAtRisk,
)
from fstui.trace.at_risk import limits, sentences

MIB = 1 << 20


def exposed(**changed: Any) -> dict[str, Any]:
    """Return the fields of a program or a file with nothing at risk."""
    zero = dict.fromkeys(("dirty_bytes", "cached_bytes", "most_bytes", "longest_s", "syncs"), 0)
    return {**zero, "oldest_s": None, "may_be_older": False, "sync_every_s": None, **changed}


def program(name: str, pid: int, **changed: Any) -> ProgramAtRisk:
    others = {"files": 0, "shared_files": 0, "names": 0, "oldest_name_s": None}
    return ProgramAtRisk(program=name, pid=pid, **exposed(**{**others, **changed}))


def file(path: str, *programs: str, **changed: Any) -> FileAtRisk:
    others = {"device": "sda1", "direct": False, "closed": False}
    return FileAtRisk(path=path, programs=programs, **exposed(**{**others, **changed}))


STATE = AtRisk(
    elapsed_s=300.0,
    programs=(
        program(
            "nats-server", 812, dirty_bytes=39 * MIB, cached_bytes=MIB, files=2, oldest_s=118.0, most_bytes=41 * MIB,
            longest_s=120.4, syncs=3, sync_every_s=120.0,
        ),
        program("cp", 950, dirty_bytes=8 * MIB, files=1, oldest_s=4.2, may_be_older=True, most_bytes=8 * MIB,
                longest_s=4.2, names=2, oldest_name_s=3.0),
        program("postgres", 700, syncs=24_000, sync_every_s=0.0125, direct_files=2, direct_bytes=3 * MIB),
    ),
    files=(
        file("/var/lib/nats/jetstream/orders/msgs/7.blk", "nats-server (812)", dirty_bytes=39 * MIB, oldest_s=118.0,
             most_bytes=41 * MIB, longest_s=120.4, syncs=3, sync_every_s=120.0),
        file("/backup/[red]dump[/]", "cp (950)", dirty_bytes=8 * MIB, oldest_s=4.2, may_be_older=True,
             most_bytes=8 * MIB, longest_s=4.2, closed=True),
        file("/var/lib/nats/meta", "nats-server (812)", "nats (900)", cached_bytes=MIB, oldest_s=0.4, most_bytes=MIB,
             longest_s=1.0, direct=True),
        file("/var/lib/postgresql/16/main/pg_wal/000000010000000000000001", "postgres (700)", syncs=24_000,
             sync_every_s=0.0125),
    ),
    names=(NamesAtRisk(program="cp (950)", directory="/backup", directories=1, device="sda1", count=2, oldest_s=3.0),),
    devices=(
        WriteCacheAtRisk(device="sda", volatile=True, not_flushed_bytes=2 * MIB),
        WriteCacheAtRisk(device="nvme0n1", volatile=False, not_flushed_bytes=5 * MIB),
    ),
    rest_bytes=12 * MIB,
    not_covered={"nfs4": 2},
    names_recorded=True,
)  # fmt: skip
SECOND = AtRiskSecond(second=STATE, sentences=sentences(STATE), limits=tuple(limits(STATE, None)))
UNSAFE = UnsafeMount(
    mount_point="/srv/queue",
    verdict="not-durable",
    sentence="ext4 sends no flushes (barriers off) to sdb, whose write cache is on.",
)
