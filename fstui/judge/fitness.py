"""The note ``etcd-fit``: etcd's own criterion for the disk under its write-ahead log."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.process import stubbed
from fstui.judge.steps import has_rate, names, synced, time_measured
from fstui.model import Evidence, Finding
from fstui.quantities import duration_ns, plain, rate

SCENARIO = "wal-etcd"
P99_NS = 10_000_000
LEAST_PER_S, RECOMMENDED_PER_S = 50, 500
SOURCE = (
    "etcd.io: FAQ (wal_fsync_duration_seconds, p99 below 10 ms), Hardware recommendations (50, better 500 a second)"
)


def etcd_fit(evidence: Evidence) -> Iterator[Finding]:
    """Fast enough for etcd, by its own documents. It says nothing of durability."""
    if evidence.scenario is None or evidence.scenario.name != SCENARIO or stubbed(evidence):
        return
    for step, settings in synced(evidence):
        p99 = step.sync_ns.p99 if step.sync_ns else None
        if settings.offsets != "append" or settings.sync != "fdatasync" or p99 is None or not has_rate(step):
            continue
        quick, per_s = p99 < P99_NS, step.rate_per_s
        fit = quick and per_s >= LEAST_PER_S
        word = "not fit" if not fit else "fit" if per_s >= RECOMMENDED_PER_S else "fit for a light load"
        yield Finding(
            rule="etcd-fit",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"{word} for etcd: p99 {duration_ns(p99)}, {rate(per_s)}/s",
            sentence=f"By etcd's own criterion this is {word}: 99 % of the fdatasyncs took less than "
            f"{duration_ns(p99)} (it wants 10 ms), at {rate(per_s)} appends a second (it wants {LEAST_PER_S}, better "
            f"{RECOMMENDED_PER_S}) in {time_measured([step])}. That is about speed alone.",
            steps=names([step]),
            because=(
                plain(f"{step.name}: p99 of fdatasync {duration_ns(p99)}, {rate(per_s)}/s"),
                f"criterion: {SOURCE}",
            ),
            next=() if fit else ("Give the log a disk of its own, or a faster one; run sustained to see what lasts.",),
        )
