"""The note ``sync-latency``: what a watch at a gentle pace is asked for, how long one sync takes now."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge.owed import call
from fstui.judge.process import stubbed
from fstui.judge.steps import measured, names, syncs, time_measured
from fstui.model import Evidence, Finding
from fstui.quantities import count, duration_ns, plain


def sync_latency(evidence: Evidence) -> Iterator[Finding]:
    """A paced step's rate is its pace; its latency is the answer. It says nothing of durability."""
    for step, settings in measured(evidence):
        took = step.latency_ns
        if not settings.ops_per_s or not call(settings) or took is None or stubbed(evidence):
            continue
        p99 = f", p99 {duration_ns(took.p99)}" if took.p99 is not None else ""
        yield Finding(
            rule="sync-latency",
            verdict=None,
            confidence="high",
            scope="step",
            title=f"p50 {duration_ns(took.p50)}{p99}, worst {duration_ns(took.max)}",
            sentence=f"A write with its sync took {duration_ns(took.p50)} (p50{p99}), at worst "
            f"{duration_ns(took.max)}: {count(syncs(step, settings))} of them in {time_measured([step])}.",
            steps=names([step]),
            because=(plain(f"{step.name}: p50 {duration_ns(took.p50)}{p99}, max {duration_ns(took.max)}"),),
            next=(),
        )
