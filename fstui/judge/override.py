"""Rules 2, 3, 5 and 6: what the configuration alone decides, whatever any number says."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.layers import backing, beneath, filesystems, levels, memory
from fstui.judge.owed import barriers_off as barriers_are_off
from fstui.judge.process import stubbed
from fstui.judge.zfs import zfs_sync_off
from fstui.model import Evidence, Finding, Node, Reading, Target, Verdict
from fstui.quantities import plain


def in_memory(evidence: Evidence) -> Iterator[Finding]:
    """Rule 2: the bottom of the stack forgets with the power."""
    found = memory(evidence.target) if evidence.target else ()
    if found:
        kinds = words.listed(dict.fromkeys(_memory_kind(node) for node in found))
        yield Finding(
            rule="in-memory",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title=f"in memory ({kinds})",
            sentence=f"The data ends in memory ({kinds}): a sync there has nothing to write to, and a power cut or a "
            "reboot loses everything.",
            because=tuple(_memory_because(node) for node in found),
            next=("Put what must survive on a filesystem that stands on a disk: fstui list shows them.",),
        )


def overlay_volatile(evidence: Evidence) -> Iterator[Finding]:
    """Rule 3: an overlay that was told to leave every sync out."""
    for overlay, found in _volatile_overlays(evidence.target):
        upper = overlay.reading("upperdir")
        where = plain(upper.value) if upper else "the upper directory"
        yield Finding(
            rule="overlay-volatile",
            verdict="not-durable",
            confidence="high",
            scope="storage",
            title="overlay mounted volatile: syncs left out",
            sentence=f"The overlay {plain(overlay.name)} is mounted volatile: it leaves out every fsync and fdatasync, "
            "so nothing is known to be on disk after one. Only files opened with O_DSYNC or O_SYNC are still flushed.",
            because=(words.reading(overlay, found),),
            next=(
                f"Test the filesystem beneath: fstui run fsync-rate in {where}.",
                "Mount the overlay without volatile.",
            ),
        )


def barriers_off(evidence: Evidence) -> Iterator[Finding]:
    """Rule 5: the filesystem sends no flushes. What that means depends on the caches beneath."""
    target = evidence.target
    for filesystem in filesystems(target) if target else ():
        barrier = filesystem.reading("barrier")
        if target and barrier and barriers_are_off(filesystem):
            yield _without_barriers(target, filesystem, barrier)


def write_through_override(evidence: Evidence) -> Iterator[Finding]:
    """Rule 6: the kernel was told "write through" about a device whose cache is on."""
    target = evidence.target
    for node in target.stack if target else ():
        if target and node.write_cache == "write through" and node not in memory(target) and not _read_only(node):
            contradictions = tuple(_contradictions(target, node))
            if contradictions:
                path = f"/sys/block/{node.id}/queue/write_cache"
                yield Finding(
                    rule="write-through-override",
                    verdict="not-durable",
                    confidence="high",
                    scope="storage",
                    title=f"{plain(node.id)}: “write through” over a cache",
                    sentence=f"The kernel takes {plain(node.id)} for “write through” and drops every flush to it, but "
                    "there is a volatile cache behind it: a sync returns before the data is safe.",
                    because=(words.read(node, "kernel's view", "write through", path), *contradictions),
                    next=(
                        f"echo 'write back' > {plain(path)}, then run again. The setting outlives detaching a loop.",
                    ),
                )


def explained(evidence: Evidence) -> bool:
    """The configuration already tells why flushes are missing; counting them again adds nothing."""
    rules = (in_memory, overlay_volatile, zfs_sync_off, barriers_off, write_through_override)
    off = any(finding.verdict == "not-durable" for rule in rules for finding in rule(evidence))
    return off or stubbed(evidence)


def _memory_kind(node: Node) -> str:
    return plain(node.kind) if node.layer != "block" or node.medium is None or not node.medium.declared else "declared"


def _memory_because(node: Node) -> str:
    medium = node.medium
    if medium and medium.declared:
        return plain(f"{node.id}: declared by you to be memory")
    return plain(f"{node.id}: {(medium and medium.because) or node.because or node.kind}")


def _volatile_overlays(target: Target | None) -> Iterator[tuple[Node, Reading]]:
    for node in target.stack if target else ():
        found = node.reading("volatile")
        if node.kind == "overlay" and found and found.value not in {"no", "0", "off"}:
            yield node, found


def _without_barriers(target: Target, filesystem: Node, barrier: Reading) -> Finding:
    caches = [node for node in beneath(target, filesystem) if _holds_cache(target, node)]
    on = [node for node in caches if node.write_cache == "write back"]
    off = [node for node in caches if node.write_cache == "write through"]
    off_here = f"{words.named(filesystem)} sends no flushes (barriers off)"
    verdict: Verdict = "cannot-tell"
    title = "barriers off, caches beneath unknown"
    sentence = f"{off_here}, and what lies beneath does not say whether it has a write cache."
    todo: tuple[str, ...] = (_barriers_on(filesystem, barrier),)
    if on and not all(_protected(node) for node in on):
        verdict, title = "not-durable", "barriers off"
        sentence = (
            f"{off_here} to {words.devices(on)}, whose write cache is on: a sync returns before the data is safe."
        )
    elif on:
        verdict, title = "plausible", "barriers off above a protected cache"
        sentence = f"{off_here}: durable only if the cache of {words.devices(on)} really outlives a power cut."
        todo = (
            "Check the controller's battery or capacitor: charged, and its cache set to write back only with it.",
            "Check that the write caches of the drives behind the controller are off.",
        )
    elif caches and len(off) == len(caches):
        verdict, title = "plausible", "barriers off, no write cache beneath"
        sentence = f"{off_here}: durable if {words.devices(off)} really has no volatile write cache, as it says."
        todo = (f"{_barriers_on(filesystem, barrier)} Where there is no cache they cost nothing.",)
    return Finding(
        rule="barriers-off",
        verdict=verdict,
        confidence="high" if verdict == "not-durable" else "medium",
        scope="storage",
        title=title,
        sentence=sentence,
        because=(words.reading(filesystem, barrier), *map(_cache_line, caches)),
        next=todo,
    )


def _barriers_on(filesystem: Node, barrier: Reading) -> str:
    if filesystem.kind == "zfs":
        return f"echo 0 > {plain(barrier.path)}, then run fsync-rate there."
    option = "barrier=1" if filesystem.kind.startswith("ext") else "barrier"
    return f"mount -o remount,{option} {plain(filesystem.name)}, then run fsync-rate there."


def _cache_line(node: Node) -> str:
    protected = f", {node.medium.because or node.medium.class_}" if node.medium and _protected(node) else ""
    return words.write_cache(node) + plain(protected)


def _holds_cache(target: Target, node: Node) -> bool:
    """Disks and loop devices have a cache of their own; md always claims one, dm repeats what is below."""
    return any(node in level.devices for level in levels(target))


def _protected(node: Node) -> bool:
    return node.medium is not None and (node.medium.class_ == "raid-cache" or node.medium.write_cache == "plp")


def _read_only(node: Node) -> bool:
    """A read-only loop device says "write through", whatever is beneath: nobody writes."""
    found = node.reading("ro")
    return found is not None and found.value == "1"


def _contradictions(target: Target, node: Node) -> Iterator[str]:
    yield from (words.reading(node, found) for found in _drive_claims(node))
    below = [other for other in beneath(target, node) if other.write_cache == "write back"]
    for other in below:
        yield words.write_cache(other)
    direct = node.reading("dio")
    if not below and backing(target, node) and not memory(target) and (direct is None or direct.value != "1"):
        yield plain(f"{node.id}: keeps what it writes in the page cache until it is flushed (no direct-io)")


def _drive_claims(node: Node) -> tuple[Reading, ...]:
    """Who says that the drive's volatile cache is on; nothing where a better witness says that it is off.

    What the drive answers now beats the driver's reading, and that beats udev's, which dates from when the drive was
    found. An NVMe drive that has a cache and was not asked whether it is on is believed to use it, as the kernel does.
    """
    values = {reading.what: reading for reading in node.readings}
    if asked := values.get("drive_cache"):
        return (asked,) if asked.value == "on" else ()
    if (has := values.get("vwc")) is not None:
        return (has,) if has.value == "present" else ()
    if driver := values.get("cache_type"):
        return (driver,) if driver.value.removeprefix("temporary ").startswith("write back") else ()
    udev = values.get("ID_ATA_WRITE_CACHE_ENABLED")
    return (udev,) if udev and udev.value == "1" else ()
