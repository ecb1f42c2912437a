"""The kinds of storage in the laboratory: what each one is, and what fstui is expected to report."""

from __future__ import annotations

from typing import Literal, NamedTuple

from fstui.model.judgement import Verdict

Name = Literal["barriers", "volatile", "memory", "preload", "limited"]
WRITES_PER_S = 100
"""The limit of the limited disk."""


class LabKind(NamedTuple):
    """One kind of storage, and its envelope: the answer, opened after the students have guessed."""

    title: str
    truth: str
    verdict: Verdict
    rule: str
    seen: str
    """Where it can be seen without fstui."""


KINDS: dict[Name, LabKind] = {
    "barriers": LabKind(
        "barriers off",
        "An ext4 on a loop device, mounted with barrier=0: it writes what is synced and never asks the disk to flush "
        "its cache.",
        "not-durable",
        "barriers-off",
        "nobarrier in /proc/fs/ext4/loopN/options",
    ),
    "volatile": LabKind(
        "a volatile overlay",
        "An overlay mounted with the option volatile, as some container builds use it: each sync succeeds and none is "
        "passed on.",
        "not-durable",
        "overlay-volatile",
        "volatile in /proc/self/mounts",
    ),
    "memory": LabKind(
        "memory",
        "A tmpfs: each sync succeeds, and everything is lost with the power.",
        "not-durable",
        "in-memory",
        "tmpfs in /proc/self/mounts",
    ),
    "preload": LabKind(
        "a library that drops syncs",
        "The disk is durable; 'fstui lab run' starts programs with libeatmydata, in which fsync does nothing.",
        "not-durable",
        "sync-stubbed",
        "libeatmydata in /proc/PID/maps of the program",
    ),
    "limited": LabKind(
        "a limited disk",
        "The disk is durable and slow: 'fstui lab run' starts programs in a cgroup that may write "
        f"{WRITES_PER_S} times a second.",
        "consistent",
        "flushes-arrive",
        "blkio.throttle.write_iops_device or io.max of the cgroup in /proc/PID/cgroup",
    ),
}
NAMES = ("alder", "birch", "cedar", "elm", "hazel", "linden", "maple", "oak", "rowan", "willow")
"""The assignment of names is random, so that no name tells the kind."""
