"""*suspicious, medium confidence*

## What it means
A consumer drive without power-loss protection, its cache on, answers flushes faster than NAND can be programmed: 200 to
300 µs for SLC, 600 to 1 350 µs for MLC and TLC.

## How it was measured
All flushes arrived, and either more than 10 000 write + fdatasync a second, or the flush adds less than half of what
the write itself takes. The latter only where the write took less than 200 µs: a slower one may be on the NAND already.

## What it proves, and what not
That it is a consumer drive is told by its model or by you (`--medium ssd`), never by "not rotating". SLC caches make
the bounds soft, hence medium. It does not tell a small protected write buffer from a lie.

## What to do next
Look the model up; if it is protected, declare it: `--medium ssd-plp`. To prove it: a power cut with a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost, added
from fstui.judge.facts.limits import NAND_PROGRAM_NS
from fstui.model.judgement import Finding
from fstui.model.quantities import duration_ns, rate
from fstui.model.storage import Node
from fstui.storage.layers.devices.disk import facts

NAND_PER_S = 10_000


@rule(place=40)
def consumer_nand_too_fast(case: Case) -> Iterator[Finding]:
    """A drive without power-loss protection flushes faster than its NAND can be written."""
    devices, write, flushed = case.commit_devices, case.costs.write, case.costs.synced
    if not devices or not all(map(_is_consumer, devices)) or flushed is None:
        return
    if not case.flushes.as_expected(flushed.step):
        return
    # a slower write may be on the NAND already, and leave a flush nothing to do
    free = write is not None and write.ns < NAND_PROGRAM_NS and flushed.ns - write.ns < write.ns / 2
    if flushed.step.rate_per_s > NAND_PER_S or free:
        yield _too_fast(devices, write, flushed, free=free)


def _too_fast(devices: tuple[Node, ...], write: Cost | None, flushed: Cost, *, free: bool) -> Finding:
    per_s = rate(flushed.step.rate_per_s)
    steps = [flushed.step, *([write.step] if write and free else [])]
    how = f"wrote and flushed {per_s} times a second"
    if write and free:
        how += f", a flush adding {added(write, flushed)} to a write of {duration_ns(write.ns)}"
    return Finding(
        rule="consumer-nand-too-fast",
        verdict="suspicious",
        confidence="medium",
        scope="storage",
        title=f"{per_s}/s flushed on NAND without protection",
        sentence=f"{words.devices(devices)} {how}, in {words.time_measured(steps)}. NAND takes 200 µs to 1.4 ms for a "
        "page: without power-loss protection it seems to answer from its volatile cache.",
        steps=words.names(steps),
        because=(flushed.because, *([write.because] if write else []), *map(words.medium, devices)),
        next=(
            "Look up whether this model has power-loss protection; if so, declare it: --medium ssd-plp.",
            words.CUT_THE_POWER,
        ),
    )


def _is_consumer(node: Node) -> bool:
    """NAND that is known to have no protection: by its model, or by the user's word."""
    medium, grade = node.medium, facts(node).grade
    if medium is None or medium.class_ != "ssd" or node.write_cache != "write back":
        return False
    known = medium.declared or (grade is not None and grade.value == "consumer")
    return known and medium.write_cache in {"volatile", "unknown"}
