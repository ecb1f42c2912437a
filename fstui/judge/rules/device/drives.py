"""Drives that are faster than their medium, a forced write or their link allows."""

from collections.abc import Iterable, Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import NAND_PER_S, NAND_PROGRAM_NS, Cost, added_time
from fstui.judge.facts.steps import WriteStep, has_rate
from fstui.model.quantities import duration_ns, rate, ratio
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers.devices.caches import cache_off_reports, is_cache_on, may_outlive_power_cut
from fstui.storage.layers.devices.disk import is_over_own_network, is_virtual
from fstui.storage.layers.devices.links import link
from fstui.storage.layers.facts import number

FLUSH_TO_FUA = 5
"""If a flushed write takes longer than this many forced writes (FUA), the forced write did not wait for the medium."""
FUA_TO_WRITE = 1.5
"""Below this ratio, a forced write counts as no slower than a plain one."""
LINK_TOLERANCE = 1.1
"""Above this multiple of the payload of the links, the writes were faster than the links."""


@rule(order=40)
def consumer_nand_too_fast(case: Case) -> Iterator[Conclusion]:
    """*suspicious, medium confidence*

    ## What it means
    Syncs return faster than NAND flash can be programmed, but the drive is not known to have power-loss protection. The
    drive probably acknowledges writes that are only in its volatile write cache.

    ## How it was measured
    All expected flushes arrived, and one of these is true:

    - One writer completed more than 10 000 writes with fdatasync per second. This sign counts even if the drive
      reports that its cache is off.
    - The drive's cache is on, a write took less than 200 µs, and a flush took less than half as long as the write.

    The rule applies only to consumer drives: fstui knows the model, or you declared `--medium ssd`. The rule does
    not apply to a disk that only reports "not rotating".

    ## What it proves, and what it does not
    The finding is a strong sign, but not a proof. A drive with a small protected buffer would be as fast.

    ## What to do next
    Look up whether this model has power-loss protection. If so, declare it: `--medium ssd-plp`. If not, run a
    power-cut test: `fstui powercut`.

    ## Details
    To program a page, SLC flash takes 200 to 300 µs. MLC and TLC flash take 600 to 1 350 µs.
    """
    devices, write, flushed = case.stack.commit_devices, case.costs.write, case.costs.synced
    if not devices or not all(map(_is_consumer, devices)) or flushed is None:
        return
    if not case.flushes.has_expected_flushes(flushed.step):
        return
    steps, flush_clause = [flushed.step], ""
    has_cache = any(node.write_cache == "write back" and is_cache_on(node) for node in devices)
    # A slower write may already be on the NAND, so that a cheap flush proves nothing.
    if has_cache and write and write.ns < NAND_PROGRAM_NS and flushed.ns - write.ns < write.ns / 2:
        steps.append(write.step)
        flush_clause = f", and a flush added {added_time(write, flushed)} to a write of {duration_ns(write.ns)}"
    elif flushed.step.rate_per_s <= NAND_PER_S:
        return
    per_s = rate(flushed.step.rate_per_s)
    yield Conclusion(
        title=f"{per_s}/s synced on NAND without protection",
        sentence=f"{words.devices(devices)} completed {per_s} synced writes per second in "
        f"{words.time_measured(steps)}{flush_clause}. Programming a page of NAND takes 200 µs to 1.4 ms, so the "
        "writes were probably acknowledged from a volatile cache.",
        verdict="suspicious",
        confidence="medium",
        steps=steps,
        evidence=(flushed.evidence, *([write.evidence] if write else []), *map(words.medium, devices)),
        next=(
            "Look up whether this model has power-loss protection. If so, declare it: '--medium ssd-plp'.",
            words.CUT_THE_POWER,
        ),
    )


def _is_consumer(node: Node) -> bool:
    """Return whether the drive is NAND without protection, by its model or the user's declaration."""
    medium = node.medium
    if medium is None or medium.class_ != "ssd":
        return False
    is_known = medium.declared or node.value("grade") == "consumer"
    volatile = node.write_cache == "write back" and medium.write_cache in {"volatile", "unknown"}
    reports_off = node.value("drive_cache") == "off" or bool(cache_off_reports(node))
    return is_known and (volatile or reports_off)


@rule(order=30)
def fua_ignored(case: Case) -> Iterator[Conclusion]:
    """*suspicious, medium confidence*

    ## What it means
    A forced write (FUA) is hardly slower than a plain write, but more than five times as fast as a write with a flush.
    The drive probably acknowledges a forced write before the data is on the medium.

    ## How it was measured
    fstui compared the typical times of three kinds of writes:

    - Tw: a plain write (O_DIRECT)
    - Td: a forced write (O_DIRECT and O_DSYNC)
    - Ts: a write with a flush (fdatasync)

    All of these are true:

    - Td is less than 1.5 × Tw, and Ts is more than 5 × Td.
    - On an SSD, Td is less than 200 µs, and Ts − Tw is at least 200 µs.
    - Each lowest device supports FUA, and its write cache is on.

    ## What it proves, and what it does not
    The finding is only about FUA: fdatasync may be durable on this drive. The opposite, a forced write that is slower
    than a flush, is normal.

    ## What to do next
    Make the database sync without O_DSYNC: PostgreSQL `wal_sync_method = fdatasync`, MySQL and MariaDB
    `innodb_flush_method = O_DIRECT` or `fsync`. To find out whether data is lost, run a power-cut test:
    `fstui powercut`.

    ## Details
    - Published case: ADATA SX8200PNP, Tw 10.6 µs, Td 10.9 µs, Ts 361 µs.
    - The rule does not apply to protected caches, RAID controllers, network storage and Hyper-V, where a fast FUA
      write may be durable. A Hyper-V host may send all writes to the medium without caching them. Source: Microsoft,
      "Hyper-V storage: caching layers and implications for data consistency".
    """
    lowest = case.stack.lowest
    write, forced, flushed = case.costs.write, case.costs.dsync, case.costs.synced
    if not (lowest and write and forced and flushed) or any(map(_may_acknowledge_fua_at_once, lowest)):
        return
    sends_fua = all(node.fua and node.write_cache == "write back" for node in lowest)
    fua_is_free = forced.ns < FUA_TO_WRITE * write.ns and not _may_be_on_flash(lowest, write, forced, flushed)
    if not (sends_fua and flushed.ns > FLUSH_TO_FUA * forced.ns and fua_is_free):
        return
    steps = (write.step, forced.step, flushed.step)
    yield Conclusion(
        title=f"a forced write takes {duration_ns(forced.ns)}, a flushed one {duration_ns(flushed.ns)}",
        sentence=f"{words.devices(lowest)} completed a forced write (FUA) in {duration_ns(forced.ns)}, as fast as a "
        f"plain one ({duration_ns(write.ns)}). Write and flush take {duration_ns(flushed.ns)}, "
        f"{flushed.ns / forced.ns:.1f} × as long, in {words.time_measured(steps)}. The drive probably ignores FUA.",
        verdict="suspicious",
        confidence="medium",
        steps=steps,
        evidence=(
            write.evidence,
            forced.evidence,
            flushed.evidence,
            *(words.evidence_line(node, "FUA", "supported", f"/sys/block/{node.id}/queue/fua") for node in lowest),
        ),
        next=(
            "Make the database call fdatasync, not O_DSYNC: PostgreSQL wal_sync_method=fdatasync, InnoDB "
            "innodb_flush_method=O_DIRECT.",
            words.CUT_THE_POWER,
        ),
    )


def _may_acknowledge_fua_at_once(node: Node) -> bool:
    """Return whether the cache may be protected, is off or cannot be seen, or the host writes everything through."""
    is_off = is_cache_on(node) is False
    class_ = node.medium.class_ if node.medium is not None else "unknown"
    may_be_array = node.link is None or link(node.link).may_be_an_array
    is_hidden = class_ == "network" or (class_ == "unknown" and may_be_array)
    forced_by_host = link(node.link).writes_through
    return may_outlive_power_cut(node) or is_over_own_network(node) or is_off or is_hidden or forced_by_host


def _may_be_on_flash(lowest: tuple[Node, ...], write: Cost, forced: Cost, flushed: Cost) -> bool:
    """Return whether the write may be on the NAND already, or the flush programmed nothing either."""
    on_flash = any(node.medium is not None and node.medium.class_ == "ssd" for node in lowest)
    return on_flash and (forced.ns >= NAND_PROGRAM_NS or flushed.ns - write.ns < NAND_PROGRAM_NS)


@rule(order=80)
def link_exceeded(case: Case) -> Iterator[Conclusion]:
    """* suspicious, high confidence: a step that syncs each write is faster than the link
    * a note: a step without syncs is faster, or a layer above the link compresses

    ## What it means
    Writes returned faster than the link to the disk can transfer them. When a write or its sync returned, its data was
    still in a cache above the link, unless a layer above it compresses or deduplicates: then the rate is legitimate.

    ## How it was measured
    For each step with one writer, fstui compared the bytes written per second with the maximum data rate of the link to
    the disk (SATA, SAS, PCIe, USB). If the data is on several disks, fstui adds up the rates of their links. The
    finding appears if the measured rate is more than 110 % of the maximum.

    ## What it proves, and what it does not
    If the kernel counted all bytes at the device, the cache is in the controller or its driver. If the kernel has no
    counters for the device (`queue/iostats` is 0), the cache may also be in a layer of this host.

    ## What to do next
    Look for a cache in the controller and its driver. If the kernel has no counters for the device, also look at the
    layers of this host: `lsblk -s`, `dmsetup table`.

    ## Details
    The rule does not apply in a virtual machine, because virtual links report arbitrary rates. It also does not apply
    if `bytes-missing` already reports that the bytes did not arrive.
    """
    payload = _payload_per_s(case.stack.lowest)
    if payload is None or case.host.virtualization or case.configuration.breaks_sync:
        return
    limit_per_s = LINK_TOLERANCE * payload
    buffered = {account.step.name for account in (*case.flushes.buffered_direct, *case.flushes.missing_bytes)}

    def too_fast(steps: Iterable[WriteStep]) -> list[Step]:
        timed = [write_step.step for write_step in steps if has_rate(write_step.step)]
        return [step for step in timed if step.name not in buffered and _bytes_per_s(step) > limit_per_s]

    synced = too_fast(write_step for write_step in case.steps.synced if write_step.settings.sync_every == 1)
    direct = too_fast(case.steps.unsynced_direct)
    if not (synced or direct):
        return
    fastest = max(synced or direct, key=_bytes_per_s)
    per_s = _bytes_per_s(fastest)
    reducing = any(level.may_reduce_bytes for level in case.stack.levels)
    yield Conclusion(
        title=f"{_mb(per_s)} MB/s over a link for {_mb(payload)} MB/s",
        sentence=f"{fastest.name} wrote {_mb(per_s)} MB/s in {words.time_measured([fastest])}, "
        f"{ratio(per_s / payload)} × what the link to {words.devices(case.stack.lowest)} can transfer. The data was "
        f"{'compressed or ' if reducing else ''}in a cache above the link when the {'sync' if synced else 'write'} "
        "returned.",
        verdict="suspicious" if synced and not reducing else None,
        scope="storage" if synced else "step",
        steps=(*synced, *direct),
        evidence=(
            *(f"{step.name}: {_mb(_bytes_per_s(step))} MB/s" for step in (*synced, *direct)),
            *(line for node in case.stack.lowest for line in words.readings(node, "link_rate", "payload_mb_s")),
        ),
        next=(
            "Look for a cache in the controller or its driver. If the kernel has no counters for the device, also "
            "look at the layers of this host: 'lsblk -s', 'dmsetup table'.",
        ),
    )


def _payload_per_s(lowest: tuple[Node, ...]) -> float | None:
    payloads_mb_s = (number(node, "payload_mb_s") for node in lowest if not is_virtual(node))
    payloads = [payload_mb_s * 1e6 for payload_mb_s in payloads_mb_s if payload_mb_s]
    return sum(payloads) if payloads and len(payloads) == len(lowest) else None


def _bytes_per_s(step: Step) -> float:
    return step.bytes / step.elapsed_s if step.elapsed_s else 0.0


def _mb(per_s: float) -> str:
    return f"{per_s / 1e6:.0f}"
