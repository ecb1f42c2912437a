"""Notes about a filesystem mounted with sync, and about O_DIRECT without a sync."""

import shlex
from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.model.quantities import count, rate
from fstui.storage.layers.facts import has_sync_option


@rule(order=50)
def mounted_sync(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    The kernel syncs every write before the write returns, as with O_DSYNC. fstui therefore judges a step without a sync
    like a step with O_DSYNC. A step with a sync syncs twice.

    ## How it was measured
    fstui found one of these:

    - The filesystem is mounted with `-o sync` (`/proc/self/mountinfo`).
    - A file that fstui created in the directory has the attribute S (`lsattr`). New files inherit this attribute from a
      directory with `chattr +S`.

    ## What it proves, and what it does not
    With this setting, each write sends a flush, not only each sync. The kernel counts these flushes at the device as
    usual. If the disk supports FUA, the filesystem may send FUA writes instead. The kernel does not count FUA writes as
    flushes.

    ## What to do next
    To measure the sync calls alone, remount with `async`, or measure in a directory without the attribute S.
    """
    target = case.evidence.target
    if not (target and case.steps.has_sync_mount):
        return
    filesystem = case.stack.levels[0].filesystem
    by_mount = has_sync_option(filesystem)
    where = target.mount_point if by_mount else target.path
    cause, undo_command = (
        ("mounted with -o sync", "mount -o remount,async") if by_mount else ("marked by chattr +S", "chattr -S")
    )
    yield Conclusion(
        title=f"{cause}: every write is synced",
        sentence=f"{where} is {cause}, so the kernel syncs every write, even of programs that never call fsync. A "
        "program that also calls fsync syncs twice.",
        evidence=words.readings(filesystem, "sync_option", "sync_flag"),
        next=(f"To measure the sync calls alone, first run: {words.command(f'{undo_command} {shlex.quote(where)}')}",),
    )


@rule(order=40)
def odirect_alone(case: Case) -> Iterator[Conclusion]:
    """*a note: it does not change the verdict*

    ## What it means
    O_DIRECT bypasses the page cache, but sends no flush. If the device has a volatile write cache, a power cut can lose
    what was written with O_DIRECT alone.

    ## How it was measured
    At least one step wrote with O_DIRECT and did not sync.

    ## What it proves, and what it does not
    The note is no sign of a fault. With its write cache on, a disk is expected to complete O_DIRECT writes quickly.

    ## What to do next
    To make the writes durable, also open the file with O_DSYNC, or call fdatasync after each write.
    """
    direct = [write_step.step for write_step in case.steps.write_steps if write_step.is_unsynced_direct]
    steps = [step for step in direct if step.ops and not case.flushes.synced_by_flag(step)]
    if steps and any(node.layer == "block" for node in case.stack.nodes):
        rates = words.join_words(f"{rate(step.rate_per_s)}/s" for step in steps)
        yield Conclusion(
            title="O_DIRECT alone is not durable",
            sentence=f"O_DIRECT without a sync ({rates}) sends no flush. If the disk has a volatile write cache, these "
            "writes are not durable.",
            scope="step",
            steps=steps,
            evidence=(f"{step.name}: {count(step.ops)} writes without a sync" for step in steps),
            next=("To make the writes durable, also open the file with O_DSYNC, or call fdatasync after each write.",),
        )
