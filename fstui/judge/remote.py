"""Rule 21: another machine, or a program, answers for the filesystem."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.judge import words
from fstui.judge.override import explained
from fstui.judge.steps import names, synced, syncs, time_measured
from fstui.model import Evidence, Finding, Node, Step
from fstui.quantities import count, plain

_OPTIONS = ("vers", "sync_option", "hard", "strict_sync", "cache", "trans")
_NFS = frozenset({"nfs", "nfs4"})


def remote_filesystem(evidence: Evidence) -> Iterator[Finding]:
    """Rule 21: what the other side does with a sync cannot be seen from here."""
    target = evidence.target
    served = [node for node in target.stack if node.layer == "remote"] if target else []
    above = [node for node in target.stack if any(bottom.id in node.below for bottom in served)] if target else []
    if not above or explained(evidence):
        return
    filesystem = above[0]
    steps = [(step, syncs(step, settings)) for step, settings in synced(evidence)]
    commits = [(step, asked, done) for step, asked in steps if (done := _commits(step, filesystem)) is not None]
    yield Finding(
        rule="remote-filesystem",
        verdict="cannot-tell",
        confidence="medium",
        scope="storage",
        title=f"{plain(filesystem.kind)}: {_who(filesystem)} answers",
        sentence=f"{words.named(filesystem)} is served from elsewhere: {_who(filesystem)} answers a sync, and whether "
        f"it has written anything by then cannot be seen from here.{_strictness(filesystem)}{_sent(commits)}",
        steps=names(step for step, _, _ in commits),
        because=(
            *(words.reading(filesystem, found) for what in _OPTIONS if (found := filesystem.reading(what))),
            *(plain(f"{step.name}: {count(done)} COMMITs for {count(asked)} syncs") for step, asked, done in commits),
        ),
        next=(_judge_there(filesystem),),
    )


def _who(filesystem: Node) -> str:
    if filesystem.kind.startswith("fuse"):
        return "a program of this box"
    return "the host" if filesystem.kind in {"virtiofs", "9p", "vboxsf", "vmhgfs", "prl_fs"} else "the server"


def _strictness(filesystem: Node) -> str:
    strict = filesystem.reading("strict_sync")
    if strict and strict.value == "no":
        return " It is mounted nostrictsync: an fsync does not even ask the server to flush."
    return ""


def _sent(commits: list[tuple[Step, int, int]]) -> str:
    """COMMITs that stay flat say nothing by themselves: a small write may be asked to be stable at once."""
    if not commits:
        return ""
    asked, done = sum(asked for _, asked, _ in commits), sum(done for _, _, done in commits)
    covered = time_measured(step for step, _, _ in commits)
    said = f" {count(asked)} syncs sent {count(done)} COMMITs in {covered}"
    return f"{said}{': its writes were asked to be stable at once, or the syncs were not sent.' if not done else '.'}"


def _judge_there(filesystem: Node) -> str:
    if filesystem.kind in _NFS:
        return "On the server: exportfs -v must say sync, not async; run fsync-rate there on the exported directory."
    if filesystem.kind.startswith("fuse"):
        return "Look up whether the program implements fsync, and run fsync-rate on what it stores its data in."
    return "Run fsync-rate on the machine that holds the data, in the directory that is shared."


def _commits(step: Step, filesystem: Node) -> int | None:
    counters = step.device(filesystem.id)
    return counters.commits if counters else None
