"""Whether the storage is fast enough for etcd and other products: their own thresholds (``fitness.toml``)."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

import msgspec

from fstui.judge.facts import Case
from fstui.judge.facts.steps import MIN_SYNCS, WriteStep
from fstui.judge.speed.reasons import passing_reasons
from fstui.judge.speed.stalls import cpu_may_explain, is_starved
from fstui.judge.words import capitalize
from fstui.model import shipped
from fstui.model.judgement import Fit, Fitness, Speed
from fstui.model.quantities import duration_ns, rate, seconds
from fstui.model.steps import Step
from fstui.storage.layers.flushes import Call

Operation = Literal["log", "append", "append-fsync", "overwrite", "direct"]
FOR_THE_VERDICT: tuple[Operation, ...] = ("overwrite", "direct")
"""Operations that are always measured. Without them, the verdict on a disk without a cache, or with a protected cache,
would be a different one."""
MIN_STOPPED_S = 1.0
"""A step that was stopped earlier gives no answer: a pause of the storage may have followed."""
SHORT_OF_CPU = "fstui was short of CPU time"


class Product(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The I/O of a product when it commits, and the thresholds that its documentation or source states."""

    name: str
    does: str
    operation: Operation
    syncs_per_commit: int = 1
    p99_ms: float | None = None
    longest_ms: float | None = None
    consequence: str = ""
    """What the product does if a sync takes longer than ``longest_ms``."""
    least_per_s: float | None = None
    recommended_per_s: float | None = None
    source: str

    @property
    def defines_fast_enough(self) -> bool:
        """Whether a threshold states what is fast enough, not only what is too slow."""
        return self.p99_ms is not None or self.least_per_s is not None

    @property
    def has_threshold(self) -> bool:
        return self.defines_fast_enough or self.longest_ms is not None


@cache
def products() -> tuple[Product, ...]:
    return shipped.packaged_table(__package__, "fitness.toml", dict[str, tuple[Product, ...]])["product"]


def product_fits(case: Case) -> Iterator[Fit]:
    """Yield the answer for each product with a measured operation, if syncs work and fstui set no rate limit."""
    if case.configuration.breaks_sync or case.evidence.rate_limit:
        return
    measured = {operation: step for step in reversed(case.steps.measured) if (operation := _operation(step))}
    for product in products():
        write_step = measured.get(product.operation)
        if write_step and (product.has_threshold or not _is_stopped_early(write_step.step)):
            yield _fit(case, product, write_step.step)


def _is_stopped_early(step: Step) -> bool:
    return step.status == "stopped" and step.elapsed_s < MIN_STOPPED_S


def add_products(case: Case, speed: Speed, fits: Sequence[Fit]) -> Speed:
    """Add the products for which the storage is fast enough or too slow. The title names only one product."""
    enough = [fit.product for fit in fits if fit.answer in ("fits", "light-load")]
    missed = [fit for fit in fits if fit.answer == "does-not-fit"]
    too_slow = [fit.product for fit in missed]
    if speed.answer not in ("normal", "slow") or not (enough or too_slow):
        return speed
    defined = [product.name for product in products() if product.defines_fast_enough]
    reason = missed[0].reasons[0] if missed and all(fit.reasons for fit in missed) else ""
    verdict, cause = ("now too slow", f": {reason}") if reason else ("too slow", "")
    title_cause = "" if reason in speed.title else cause
    title = next((f"; {verdict} for {name}{title_cause}" for name in too_slow if name in defined), "")
    title = title or next((f"; enough for {name}" for name in enough), "")
    lists = ((verdict, too_slow, cause), ("enough", enough, ""))
    sentences = [f"{capitalize(intro)} for {', '.join(names)}{end}." for intro, names, end in lists if names]
    sentence = " ".join([speed.sentence, *sentences])
    return msgspec.structs.replace(speed, title=f"{speed.title}{title}", sentence=sentence)


_OPERATIONS: dict[tuple[int, str, Call | None, bool], Operation] = {
    (2300, "sequential", "fdatasync", False): "log",
    (4096, "append", "fdatasync", False): "append",
    (4096, "append", "fsync", False): "append-fsync",
    (8192, "same", "fdatasync", False): "overwrite",
    (4096, "same", "fdatasync", True): "direct",
    (4096, "random", "fdatasync", True): "direct",
}
"""By the bytes of a block, the offsets, the sync method, and whether the writes use O_DIRECT."""


def _operation(write_step: WriteStep) -> Operation | None:
    """Return the operation that the step measured. None if no product has it, or if the step had too few syncs."""
    if not write_step.writes_at_full_speed or write_step.syncs < MIN_SYNCS or not write_step.step.rate_per_s:
        return None
    settings = write_step.settings
    key = (settings.block_bytes, settings.offsets, write_step.sync_method, write_step.direct)
    operation = _OPERATIONS.get(key)
    overwrites = settings.offsets != "append" and settings.prefill == "written"
    return operation if overwrites is (operation in FOR_THE_VERDICT) else None


class _Limit(NamedTuple):
    required: str
    measured: str
    is_met: bool
    missed_by: str
    """``2.5 × the limit``, or for a rate ``1.7 × slower than required``."""
    by_cpu: bool
    """Whether the step may have missed the limit because it waited for a CPU."""


def _fit(case: Case, product: Product, step: Step) -> Fit:
    limits = list(_limits(product, step))
    missed = [limit for limit in limits if not limit.is_met]
    recommended = product.recommended_per_s or 0.0
    answer: Fitness = "no-threshold"
    if missed:
        answer = "not-known" if all(limit.by_cpu for limit in missed) else "does-not-fit"
    elif limits and not product.defines_fast_enough:
        answer = "within-limit"
    elif limits:
        answer = "fits" if step.rate_per_s >= recommended else "light-load"
    required = [limit.required for limit in limits]
    required += [f"recommended {recommended:g}/s"] if recommended else []
    measured = [limit.measured + ("" if limit.is_met else f" ({limit.missed_by})") for limit in limits]
    per_s = step.rate_per_s / product.syncs_per_commit
    measured = measured or [f"{rate(per_s)}/s"]
    if _is_stopped_early(step):
        answer, measured = "not-known", [f"the step was stopped after {seconds(step.elapsed_s)}"]
    elif answer == "not-known":
        measured.append(SHORT_OF_CPU)
    sync = step.sync_ns or step.latency_ns
    reasons = passing_reasons(case, step) if answer == "does-not-fit" else ()
    return Fit(
        product=product.name,
        does=product.does,
        answer=answer,
        measured=", ".join(measured),
        required=", ".join(required) or "none published",
        step=step.name,
        source=product.source,
        rate_per_s=per_s,
        p99_ns=sync.p99 if sync else None,
        longest_ns=sync.max if sync else None,
        reasons=tuple(reason.text for reason in reasons),
        evidence=tuple(reason.evidence for reason in reasons),
        next=tuple(dict.fromkeys(reason.next for reason in reasons)),
    )


def _limits(product: Product, step: Step) -> Iterator[_Limit]:
    sync = step.sync_ns or step.latency_ns
    if sync is None:
        return
    longest = f"longest sync {duration_ns(sync.max)}"
    if product.p99_ms is not None:
        required = f"p99 < {product.p99_ms:g} ms"
        if sync.p99 is None:  # fewer than 100 syncs, so compare the longest one
            yield _Limit(required, longest, *_compare(step, sync.max, product.p99_ms, 1))
        else:
            compared = _compare(step, sync.p99, product.p99_ms, step.syncs / 100)
            yield _Limit(required, f"sync p99 {duration_ns(sync.p99)}", *compared)
    if product.longest_ms is not None:
        required = f"each < {product.longest_ms / 1000:g} s, else {product.consequence}"
        yield _Limit(required, longest, *_compare(step, sync.max, product.longest_ms, 1))
    if product.least_per_s is not None:
        least, per_s = product.least_per_s, step.rate_per_s
        missed_by = f"{least / per_s:.1f} × slower than required"
        yield _Limit(f"{least:g}/s", f"{rate(per_s)}/s", per_s >= least, missed_by, is_starved(step))


def _compare(step: Step, ns: int, limit_ms: float, syncs: float) -> tuple[bool, str, bool]:
    """Return ``is_met``, ``missed_by`` and ``by_cpu``. ``syncs``: how many syncs took ``ns`` or longer."""
    by_cpu = is_starved(step) or cpu_may_explain(step, ns, syncs)
    return ns < limit_ms * 1e6, f"{ns / (limit_ms * 1e6):.1f} × the limit", by_cpu
