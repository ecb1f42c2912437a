"""Whether the storage is fast enough for etcd and other products: their own thresholds (``fitness.toml``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from fstui.judge.facts import Case
from fstui.judge.facts.steps import MIN_SYNCS, SyncStep
from fstui.judge.speed.stalls import is_starved
from fstui.model import shipped
from fstui.model.judgement import Fit, Fitness, Speed
from fstui.model.quantities import duration_ns, rate
from fstui.model.steps import Latency
from fstui.storage.layers.flushes import Call

Operation = Literal["log", "append", "append-fsync", "overwrite", "direct"]


class Product(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a product does on storage when it commits, and the threshold that its documentation or source states."""

    name: str
    does: str
    operation: Operation
    syncs_per_commit: int = 1
    p99_ms: float | None = None
    longest_ms: float | None = None
    beyond: str = ""
    """What the product does if a sync takes longer than ``longest_ms``."""
    least_per_s: float | None = None
    recommended_per_s: float | None = None
    source: str

    @property
    def states_enough(self) -> bool:
        """Whether a threshold states what is fast enough, not only what is too slow."""
        return self.p99_ms is not None or self.least_per_s is not None

    @property
    def has_threshold(self) -> bool:
        return self.states_enough or self.longest_ms is not None


@cache
def products() -> tuple[Product, ...]:
    return shipped.table(__package__, "fitness.toml", dict[str, tuple[Product, ...]])["product"]


def fits(case: Case) -> Iterator[Fit]:
    """Yield the answer for each product whose operation was measured, if syncs are durable and no limit was set."""
    if case.configuration.breaks_sync or case.evidence.rate_limit:
        return
    measured = {operation: done for done in reversed(case.steps.measured) if (operation := _operation(done))}
    for product in products():
        if done := measured.get(product.operation):
            yield _fit(product, done)


def with_products(speed: Speed, fit: Sequence[Fit]) -> Speed:
    """Add to the answer about speed which products it is enough for or too slow for, and one of them to its title."""
    enough = [one.product for one in fit if one.answer in ("fits", "light-load")]
    too_slow = [one.product for one in fit if one.answer == "does-not-fit"]
    if speed.answer not in ("normal", "slow") or not (enough or too_slow):
        return speed
    stating_enough = [product.name for product in products() if product.states_enough]
    title = next((f"; too slow for {name}" for name in too_slow if name in stating_enough), "")
    title = title or next((f"; enough for {name}" for name in enough), "")
    lists = (("Too slow for", too_slow), ("Enough for", enough))
    sentences = [f"{words} {', '.join(names)}." for words, names in lists if names]
    sentence = " ".join([speed.sentence, *sentences])
    return msgspec.structs.replace(speed, title=f"{speed.title}{title}", sentence=sentence)


def _operation(done: SyncStep) -> Operation | None:
    """Return the product's operation with these blocks and offsets; None if there is none, or too few syncs."""
    if not done.synced_each or done.syncs < MIN_SYNCS:
        return None
    size = done.settings.block_bytes
    return next((name for name, (block, is_it) in _OPERATIONS.items() if size == block and is_it(done)), None)


def _is_log(done: SyncStep) -> bool:
    fills = done.settings.offsets == "sequential" and done.settings.prefill != "written"
    return fills and done.call == "fdatasync" and not done.direct


def _appends(call: Call) -> Callable[[SyncStep], bool]:
    return lambda done: (done.settings.offsets, done.settings.sync, done.direct) == ("append", call, False)


def _overwrites(done: SyncStep) -> bool:
    return done.overwrites_alone and done.call == "fdatasync"


_OPERATIONS: dict[Operation, tuple[int, Callable[[SyncStep], bool]]] = {
    "log": (2300, _is_log),
    "append": (4096, _appends("fdatasync")),
    "append-fsync": (4096, _appends("fsync")),
    "overwrite": (8192, lambda done: _overwrites(done) and done.settings.offsets == "same" and not done.direct),
    "direct": (4096, lambda done: _overwrites(done) and done.direct),
}
"""The bytes of a block, and whether a step is this operation."""


class _Limit(NamedTuple):
    required: str
    measured: str
    met: bool
    missed_by: str
    """``2.5 × the limit``, or for a rate ``1.7 × slower than required``."""


def _fit(product: Product, done: SyncStep) -> Fit:
    sync = done.step.sync_ns or done.step.latency_ns
    limits = list(_limits(product, sync, done.step.rate_per_s)) if sync else []
    recommended = product.recommended_per_s or 0.0
    answer: Fitness = "no-threshold"
    if not all(limit.met for limit in limits):
        answer = "not-known" if is_starved(done.step) else "does-not-fit"
    elif limits and not product.states_enough:
        answer = "within-limit"
    elif limits:
        answer = "fits" if done.step.rate_per_s >= recommended else "light-load"
    required = [limit.required for limit in limits]
    required += [f"recommended {recommended:g}/s"] if recommended else []
    measured = [limit.measured + ("" if limit.met else f" ({limit.missed_by})") for limit in limits]
    measured = measured or [f"{rate(done.step.rate_per_s / product.syncs_per_commit)}/s"]
    if answer == "not-known":
        measured.append("the host was short of CPU")
    return Fit(
        product=product.name,
        does=product.does,
        answer=answer,
        measured=", ".join(measured),
        required=", ".join(required) or "none published",
        step=done.step.name,
        source=product.source,
    )


def _limits(product: Product, sync: Latency, per_s: float) -> Iterator[_Limit]:
    if product.p99_ms is not None:
        # fewer than 100 syncs have no p99
        name, ns = ("longest", sync.max) if sync.p99 is None else ("p99", sync.p99)
        yield _Limit(f"p99 < {product.p99_ms:g} ms", f"{name} {duration_ns(ns)}", *_below(ns, product.p99_ms))
    if product.longest_ms is not None:
        required = f"each < {product.longest_ms / 1000:g} s, else {product.beyond}"
        yield _Limit(required, f"longest {duration_ns(sync.max)}", *_below(sync.max, product.longest_ms))
    if product.least_per_s is not None:
        least = product.least_per_s
        yield _Limit(f"{least:g}/s", f"{rate(per_s)}/s", per_s >= least, f"{least / per_s:.1f} × slower than required")


def _below(ns: float, limit_ms: float) -> tuple[bool, str]:
    """Return ``met`` and ``missed_by``."""
    return ns < limit_ms * 1e6, f"{ns / (limit_ms * 1e6):.1f} × the limit"
