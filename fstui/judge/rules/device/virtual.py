"""Disks that a hypervisor or a cloud provides."""

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.judge.facts.costs import Cost
from fstui.model.quantities import duration_ns, rate
from fstui.model.storage import Node
from fstui.storage.layers.devices import media, platforms
from fstui.storage.layers.devices.disk import is_virtual
from fstui.storage.layers.facts import off_reading

HOST_CACHE_NS = 60_000
"""If a virtual disk writes 16 KiB faster than this, the data is in the host's memory or in a protected cache."""


@rule(order=10)
def virtio_no_flush(case: Case) -> Iterator[Conclusion]:
    """* suspicious, medium confidence: Firecracker offers no flush
    * suspicious, low confidence: another hypervisor offers no flush, the guest is not in a known cloud, and a write
      takes less than 60 µs
    * plausible, low confidence: the host offers a flush, but reports no cache
    * cannot-tell, low confidence: otherwise, if the host offers no flush

    ## What it means
    According to the host, the virtio disk has no write cache, so the kernel sends the disk no flush. Either the host
    writes all data through to its own disk immediately, or the data is never flushed.

    ## How it was measured
    `queue/write_cache` is "write through". fstui also measured an O_DIRECT write, and read the features of the disk
    (`device/features`):

    - F_FLUSH (bit 9) is missing: the host offers no flush.
    - F_FLUSH and CONFIG_WCE (bit 11) are present: the host offers a flush. The cache is off, but the guest can switch
      it on.

    ## What it proves, and what it does not
    A write that takes less than 60 µs is in the host's memory or in a protected drive. Only the owner of the host knows
    which.

    ## What to do next
    On the host, set `cache=none` or `cache=writeback` (QEMU), or `cache_type=Writeback` (Firecracker). For stronger
    evidence, run a power-cut test (`fstui powercut`) and cut the power of the *host*.

    ## Details
    - A host with protected drives (SPDK, a DPU) also completes a write in less than 60 µs, and needs no flush. Known
      clouds have such hosts, so their speed is not suspicious.
    - Since 2021, Firecracker offers a flush only with `cache_type=Writeback`. Without that setting, the data is in the
      host's page cache, however long a write takes.
    """
    disks = [node for node in case.stack.lowest if node.link == "virtio" and node.write_cache == "write through"]
    without_flush = [node for node in disks if off_reading(node, "F_FLUSH")]
    if case.configuration.breaks_sync or case.rotation.syncs_reach_platters:
        return
    if without_flush:
        yield _no_flush(case, without_flush, case.costs.write)
    elif disks and all(node.value("F_FLUSH") == node.value("CONFIG_WCE") == "yes" for node in disks):
        yield _claims_no_cache(disks)


def _claims_no_cache(nodes: list[Node]) -> Conclusion:
    where = words.devices(nodes)
    return Conclusion(
        title=f"{where}: reported as write through by the host",
        sentence=f"The host reports that the write cache of {where} is off, and would allow the guest to switch it "
        "on. If the cache is off, each write is durable when it completes.",
        verdict="plausible",
        confidence="low",
        evidence=(line for node in nodes for line in _feature_lines(node)),
        next=("On the host, check the cache mode of this disk: in QEMU, cache=writethrough or directsync.",),
    )


def _no_flush(case: Case, nodes: list[Node], write: Cost | None) -> Conclusion:
    where = words.devices(nodes)
    on_firecracker = case.host.virtualization == "firecracker"
    is_fast = write is not None and write.ns < HOST_CACHE_NS
    meaning = "Whether a sync is durable depends on the host, which may have a protected cache."
    if on_firecracker:
        meaning = "Firecracker offers no flush if it is configured never to flush: the data is in its host's memory."
    elif write and is_fast:
        meaning = (
            f"The disk completes an O_DIRECT write in {duration_ns(write.ns)} (in {words.time_measured([write.step])}),"
            " so the data is in a protected drive's cache or only in the host's memory."
        )
    return Conclusion(
        title=f"{where}: the host offers no flush",
        sentence=f"The host offers {where} no flush, so the kernel drops every flush request. {meaning}",
        verdict="suspicious" if on_firecracker or (is_fast and case.host.cloud is None) else "cannot-tell",
        confidence="medium" if on_firecracker else "low",
        steps=[write.step] if write else (),
        evidence=(*([write.evidence] if write else []), *(line for node in nodes for line in _feature_lines(node))),
        next=(
            "On the host, set cache_type=Writeback for this disk ('fstui list' there shows its cache_type).",
            words.UNTIL_THEN,
        )
        if on_firecracker
        else (
            *words.host_advice(case.host),
            "On the host, set a cache mode that passes flushes on: in QEMU, cache=none or writeback.",
            words.UNTIL_THEN,
        ),
    )


def _feature_lines(node: Node) -> Iterator[str]:
    yield words.write_cache(node)
    yield from words.readings(node, "F_FLUSH", "CONFIG_WCE")


@rule(order=70)
def network_too_fast(case: Case) -> Iterator[Conclusion]:
    """*suspicious, medium confidence*

    ## What it means
    This cloud network volume completed at least 10 000 syncs per second with one writer. That is one sync in at most
    0.1 ms. A round trip over the network and several copies take longer. A cache nearer to the guest probably
    acknowledges the syncs.

    ## How it was measured
    - The model identifies a cloud network volume.
    - One writer did at least 10 000 synced writes per second, and their bytes reached the device.

    ## What it proves, and what it does not
    This rate is a strong sign, not a proof: the volume may be faster than any published rate. The cache may be in this
    guest, in its hypervisor, or on a disk of the hypervisor's machine.

    ## What to do next
    Look for a cache in the layers of this guest (`lsblk -s`) and in the settings of the volume (Azure: host caching).
    Only the provider can cut the power of the volume. A forced stop of the instance during `fstui powercut` shows only
    whether data left the guest.

    ## Details
    The rule does not apply to volumes that can be as fast as this: cloud volumes over RDMA, and your own NVMe over
    fabrics, Fibre Channel, iSCSI or Ceph.
    """
    devices, fastest = case.stack.commit_devices, case.costs.fastest_synced
    if not devices or fastest is None or not all(map(media.is_cloud_volume, devices)):
        return
    syncs_lost_above = case.configuration.breaks_sync or case.flushes.missing_bytes
    if not case.costs.is_faster_than_network or syncs_lost_above:
        return
    volumes = "is a network volume" if len(devices) == 1 else "are network volumes"
    per_s, per_sync = rate(fastest.rate_per_s), duration_ns(1e9 / fastest.rate_per_s)
    yield Conclusion(
        title=f"{per_s}/s over a cloud's network",
        sentence=f"{words.devices(devices)} {volumes}, and one writer did {per_s} syncs per second in "
        f"{words.time_measured([fastest])}, {per_sync} each. A cloud takes longer to write several copies, so "
        "a cache nearer to the guest probably acknowledges the syncs.",
        verdict="suspicious",
        confidence="medium",
        steps=[fastest],
        evidence=(
            f"{fastest.name}: {per_s}/s, {per_sync} each",
            *(f"{node.id} medium: {node.medium.reason or 'network'}" for node in devices if node.medium),
        ),
        next=(
            "Look for a cache in between: lsblk -s, and the volume's host caching (Azure: set it to none).",
            words.FORCE_STOP,
        ),
    )


@rule(order=12)
def ignored_by_default(case: Case) -> Iterator[Conclusion]:
    """*cannot-tell, low confidence*

    ## What it means
    According to its documentation, the hypervisor, or the server that provides the disk, does not make flushed data
    durable by default.

    - VirtualBox and Longhorn acknowledge a flush and do nothing.
    - Lima and Docker Desktop on macOS write the data to the drive, but may leave it in the cache of the drive.

    ## How it was measured
    fstui recognised the hypervisor by its name in DMI (`/sys/class/dmi/id`), or by the kernel release (`uname -r`),
    and a Longhorn disk by its model. The documentation of each product says what it does with a flush.

    ## What it proves, and what it does not
    Flushes that reach such a disk prove nothing. A guest cannot see whether the default was changed. The iSCSI server
    tgt gives its disks the same model as Longhorn, so fstui may mistake one for the other. The rule does not apply in
    these cases:

    - fstui observed that a flush takes longer if more data is unsynced (`flush-cost`). If the host is a Mac, this is
      not enough.
    - You declared a rotating medium, and each sync takes as long as the platter needs.
    - You declared a protected medium.

    ## What to do next
    - VirtualBox: on the host, `VBoxManage getextradata VM enumerate` shows `IgnoreFlush` if it was set. If it is
      absent or 1, set it to 0 for the disk, and run again.
    - Longhorn: its nodes write with O_DIRECT, so only the write caches of their disks matter. Check that these disks
      have power-loss protection, or no write cache.
    - macOS: look up the synchronization mode of the disk. Only the mode "full" flushes the drive's cache.
    """
    served = [(node, platform) for node in case.stack.commit_devices if (platform := _served_by(case, node))]
    suspects = [(node, platform) for node, platform in served if platform.drops_flushes or platform.skips_drive_flush]
    flushes_work = any(growth.shows_work for growth in case.flush_growth) and case.flushes.complete_lowest_account
    if not suspects or (flushes_work and not suspects[0][1].skips_drive_flush):
        return
    if case.configuration.breaks_sync or case.rotation.syncs_reach_platters or case.commits_are_safe:
        return
    where, platform = words.devices(node for node, _ in suspects), suspects[0][1]
    problem = f"{platform.title} ignores flushes"
    if not platform.drops_flushes:
        problem = "flushes may end in the cache of the host's drive"
    yield Conclusion(
        title=f"{where}: {problem}",
        sentence=f"{platform.flush_default}. fstui cannot see whether that is so here. "
        f"A sync that reaches {where} may end in volatile memory.",
        verdict="cannot-tell",
        confidence="low",
        evidence=(f"{platform.title}: recognised by {platform.recognised_by}", f"documented: {platform.source}"),
        next=(platform.how_to_check, words.UNTIL_THEN),
    )


def _served_by(case: Case, node: Node) -> platforms.Platform | None:
    hypervisor = platforms.find(case.host.virtualization) if is_virtual(node) else None
    return hypervisor or platforms.service(node.kind, node.name, node.model)
