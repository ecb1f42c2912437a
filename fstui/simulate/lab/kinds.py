"""What can be in the laboratory: what each kind of storage is in truth, and what it wants of the kernel."""

from __future__ import annotations

from typing import Literal, NamedTuple

from fstui.model.judgement import Verdict

Name = Literal["honest", "barriers", "memory", "volatile", "override", "throttled", "forgetful"]
WRITES_PER_S = 100
"""Of the throttled disk."""
HOLD_S = 5
"""So long the forgetful disk keeps in its cache what was flushed."""


class Kind(NamedTuple):
    """One kind of storage, and its envelope."""

    title: str
    truth: str
    verdict: Verdict
    rule: str
    """What fstui is to say of it, and by which rule."""
    seen: str
    """Where it can be seen without fstui."""
    needs: tuple[str, ...] = ("/dev/loop-control",)
    """Paths that are there where the kernel can make it, or names of filesystems."""
    served: bool = False
    """A process of fstui is the disk: it has a plug that can be pulled."""


_CUT = (
    "From inside nothing gives it away. fstui powercut write DIR | fstui powercut witness acks.log; fstui lab cut "
    "NAME while it writes; fstui powercut verify DIR --storage-was-cut < acks.log says {}."
)
KINDS: dict[Name, Kind] = {
    "honest": Kind(
        "honest",
        "An ext4 on a loop device over a file on this box's own disk, with barriers, cache and flushes as they should "
        "be. It keeps its word as well as that disk does.",
        "consistent",
        "flushes-arrive",
        "as many flushes as syncs in /sys/block/loopN/stat",
    ),
    "barriers": Kind(
        "barriers off",
        "An ext4 that was mounted with barrier=0: it writes what is synced, and never asks the disk to flush its "
        "cache.",
        "not-durable",
        "barriers-off",
        "nobarrier in /proc/fs/ext4/loopN/options",
    ),
    "memory": Kind(
        "a loop in memory",
        "What looks like a disk is a file in a tmpfs: every flush arrives, and all is gone with the power.",
        "not-durable",
        "in-memory",
        "/sys/block/loopN/loop/backing_file, and findmnt -T of that file",
    ),
    "volatile": Kind(
        "a volatile overlay",
        "An overlay that was mounted with 'volatile', as containers for builds are: it answers every sync and passes "
        "none on.",
        "not-durable",
        "overlay-volatile",
        "volatile in /proc/self/mounts",
        needs=("overlay",),
    ),
    "override": Kind(
        "a write-through override",
        "An ext4 on a loop device of which the kernel was told that its cache is off ('write through'): it drops every "
        "flush, while the file below is cached.",
        "not-durable",
        "write-through-override",
        "/sys/block/loopN/queue/write_cache says write through",
    ),
    "throttled": Kind(
        "a throttled disk",
        f"Slow, and honest: a process of fstui serves it and lets no more than {WRITES_PER_S} writes a second through, "
        "as a provider throttles a volume. What it acknowledges is on this box's disk.",
        "cannot-tell",
        "remote-filesystem",
        _CUT.format("kept"),
        needs=("/dev/loop-control", "/dev/fuse"),
        served=True,
    ),
    "forgetful": Kind(
        "a disk that forgets",
        "The lying disk: a process of fstui serves it and acknowledges every flush at once, while it keeps what was "
        f"written in its own memory for {HOLD_S} seconds. Flushes arrive as they should; what it held is gone when its "
        "plug is pulled.",
        "cannot-tell",
        "remote-filesystem",
        _CUT.format("lost"),
        needs=("/dev/loop-control", "/dev/fuse"),
        served=True,
    ),
}
NAMES = ("alder", "birch", "cedar", "elm", "hazel", "linden", "maple", "oak", "rowan", "willow")
"""What the class sees; shuffled, so that none tells what it stands for."""
