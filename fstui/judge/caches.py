"""Rules 13, 14 and 15: what the kind of cache beneath lets one expect of a flush."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.answering import answering
from fstui.judge.costs import Cost, as_owed, fastest_synced, synced_cost, write_cost
from fstui.judge.override import explained
from fstui.judge.steps import names, time_measured
from fstui.model import Confidence, Evidence, Finding, Node
from fstui.quantities import duration_ns, plain, rate

NAND_PER_S = 10_000
NAND_PROGRAM_NS = 200_000
"""What SLC takes to program a page; MLC and TLC take 600 µs and more. A write that took longer may be on the NAND
already and leave a flush nothing to do."""
CACHE_PER_S = 100_000
"""Beyond this no protected cache behind a bus answers one writer at a time."""
CONTROLLER_PER_S = (5_000, 30_000)
_WITNESS = "To prove it: cut the power in the middle of acknowledged writes, with a witness on another box."


def consumer_nand_too_fast(evidence: Evidence) -> Iterator[Finding]:
    """Rule 13: a drive without power-loss protection flushes faster than its NAND can be written."""
    devices, write, flushed = _answering(evidence), write_cost(evidence), synced_cost(evidence)
    if not devices or not all(_consumer(node) for node in devices) or flushed is None:
        return
    if explained(evidence) or not as_owed(evidence, flushed.step):
        return
    free = write is not None and write.ns < NAND_PROGRAM_NS and flushed.ns - write.ns < write.ns / 2
    if flushed.step.rate_per_s > NAND_PER_S or free:
        where = words.devices(devices)
        steps = [flushed.step, *([write.step] if write and free else [])]
        how = f"{rate(flushed.step.rate_per_s)} write-and-flush a second"
        if write and free:
            how += f", where the flush adds {_flush(write, flushed)} to a write of {duration_ns(write.ns)}"
        yield Finding(
            rule="consumer-nand-too-fast",
            verdict="suspicious",
            confidence="medium",
            scope="storage",
            title=f"{rate(flushed.step.rate_per_s)}/s flushed on NAND without protection",
            sentence=f"{where} did {how}, in {time_measured(steps)}. Programming a page of NAND takes 200 µs to "
            "1.4 ms, and this drive has no power-loss protection: it seems to answer a flush from its volatile cache.",
            steps=names(steps),
            because=(flushed.because, *([write.because] if write else []), *map(_medium, devices)),
            next=(
                "Look up whether this model has power-loss protection; if so, declare it: --medium ssd-plp.",
                _WITNESS,
            ),
        )


def protected_cache(evidence: Evidence) -> Iterator[Finding]:
    """Rule 14: a cache that outlives a power cut may answer a flush at once."""
    devices, write, flushed = _answering(evidence), write_cost(evidence), synced_cost(evidence)
    fastest = fastest_synced(evidence)
    if not devices or not all(_protected(node) for node in devices) or not (write and flushed and fastest):
        return
    if flushed.ns - write.ns < 2 * write.ns and fastest.rate_per_s <= CACHE_PER_S:
        where, steps = words.devices(devices), [write.step, flushed.step]
        yield Finding(
            rule="protected-cache",
            verdict="plausible",
            confidence=_sure(evidence, devices),
            scope="storage",
            title=f"a flush adds {_flush(write, flushed)}, on {_kinds(devices)}",
            sentence=f"A flush adds {_flush(write, flushed)} to a write of {duration_ns(write.ns)} at {where} "
            f"({time_measured(steps)}). On {_kinds(devices)} that is as it should be: durable, if its cache outlives a "
            "power cut as it claims.",
            steps=names(steps),
            because=(write.because, flushed.because, *map(_medium, devices)),
            next=("Check the drive's health: smartctl -a shows whether its capacitor still holds.", _WITNESS),
        )


def raid_cache(evidence: Evidence) -> Iterator[Finding]:
    """Rule 15: a RAID controller answers from its own cache, which is worth as much as its battery."""
    devices, fastest = _answering(evidence), fastest_synced(evidence)
    if not devices or not all(_controller(node) for node in devices) or fastest is None or explained(evidence):
        return
    low, high = CONTROLLER_PER_S
    if low <= fastest.rate_per_s <= high:
        where = words.devices(devices)
        yield Finding(
            rule="raid-cache",
            verdict="plausible",
            confidence="medium",
            scope="storage",
            title=f"{rate(fastest.rate_per_s)}/s from a RAID controller's cache",
            sentence=f"{where} answered {rate(fastest.rate_per_s)} synced writes a second in {time_measured([fastest])}"
            ": the pace of a RAID controller's cache. It is durable if the battery is healthy and the drives' own "
            "caches are off.",
            steps=names([fastest]),
            because=(plain(f"{fastest.name}: {rate(fastest.rate_per_s)}/s"), *map(_medium, devices)),
            next=(
                "Check the battery or capacitor: storcli /c0/bbu show, ssacli ctrl all show status.",
                "Check that the drives' own caches are off: storcli /c0/vall show all (Disk Cache Policy).",
            ),
        )


def _answering(evidence: Evidence) -> tuple[Node, ...]:
    return answering(evidence.target) if evidence.target and evidence.steps else ()


def _consumer(node: Node) -> bool:
    """NAND that is known to have no protection: by its model, or by the user's word."""
    medium, grade = node.medium, node.reading("grade")
    if medium is None or medium.class_ != "ssd" or node.write_cache != "write back":
        return False
    known = medium.declared or (grade is not None and grade.value == "consumer")
    return known and medium.write_cache in {"volatile", "unknown"}


def _protected(node: Node) -> bool:
    medium = node.medium
    return _no_cache(node) or (
        medium is not None and (medium.class_ in {"ssd-plp", "optane"} or medium.write_cache == "plp")
    )


def _no_cache(node: Node) -> bool:
    """The NVMe drive says that it has no volatile write cache."""
    return any((reading.what, reading.value) == ("vwc", "absent") for reading in node.readings)


def _controller(node: Node) -> bool:
    return node.medium is not None and node.medium.class_ == "raid-cache"


def _sure(evidence: Evidence, devices: tuple[Node, ...]) -> Confidence:
    stated = all(node.medium and not node.medium.declared and not _no_cache(node) for node in devices)
    return "high" if stated and evidence.host.virtualization is None else "medium"


def _kinds(devices: tuple[Node, ...]) -> str:
    kinds = dict.fromkeys(
        "Optane"
        if node.medium and node.medium.class_ == "optane"
        else "a drive without a volatile cache"
        if _no_cache(node)
        else "a power-loss-protected drive"
        for node in devices
    )
    return words.listed(kinds)


def _flush(write: Cost, flushed: Cost) -> str:
    extra = flushed.ns - write.ns
    return duration_ns(extra) if extra > 0 else "nothing"


def _medium(node: Node) -> str:
    medium = node.medium
    if medium is None:
        return plain(f"{node.id} medium: not known")
    who = "declared by you" if medium.declared else medium.because or "read"
    return plain(f"{node.id} medium, write cache: {medium.class_}, {medium.write_cache}: {who}")
