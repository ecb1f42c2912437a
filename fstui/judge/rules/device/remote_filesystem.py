"""*cannot-tell*

## What it means
NFS, CIFS, 9p, virtiofs or FUSE: another machine or a program answers the sync. What it has done by then cannot be seen
from here.

## How it was measured
The mount's type and options, and for NFS the COMMIT calls of `/proc/self/mountstats`.

## What it proves, and what not
An NFS export with `async` answers at once, against the protocol and unseen by its clients. COMMITs that stay flat prove
nothing by themselves: a small write may be asked to be stable at once. A FUSE program without fsync counts as success.

## What to do next
Run fsync-rate on the machine that holds the data. NFS: `exportfs -v` must say `sync`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.judge.facts.stack import Stack
from fstui.model.judgement import Finding
from fstui.model.quantities import count
from fstui.model.steps import Step
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.network import remote


class _Sent(NamedTuple):
    step: Step
    syncs: int
    commits: int


@rule(place=90)
def remote_filesystem(case: Case) -> Iterator[Finding]:
    """What the other side does with a sync cannot be seen from here."""
    filesystem = _served(case.stack)
    if filesystem is None or case.configuration.breaks_sync:
        return
    who, sent = remote.answered_by(filesystem), tuple(_sent(case, filesystem))
    yield Finding(
        rule="remote-filesystem",
        verdict="cannot-tell",
        confidence="medium",
        scope="storage",
        title=f"{filesystem.kind}: {who} answers",
        sentence=f"{words.named(filesystem)} is served from elsewhere: {who} answers a sync, and whether "
        f"it has written anything by then cannot be seen from here.{_commits(sent)}",
        steps=words.names(found.step for found in sent),
        because=(
            *(words.reading(filesystem, found) for what in remote.OPTIONS if (found := filesystem.reading(what))),
            *(f"{step.name}: {count(commits)} COMMITs for {count(syncs)} syncs" for step, syncs, commits in sent),
        ),
        next=(kind(filesystem.kind).judge_there,),
    )


def _served(stack: Stack) -> Node | None:
    """The topmost filesystem that stands on something remote."""
    bottoms = {node.id for node in stack.nodes if node.layer == "remote"}
    return next((node for node in stack.nodes if bottoms.intersection(node.below)), None)


def _sent(case: Case, filesystem: Node) -> Iterator[_Sent]:
    for done in case.steps.synced:
        counters = done.step.device(filesystem.id)
        if counters and counters.commits is not None:
            yield _Sent(done.step, done.syncs, counters.commits)


def _commits(sent: tuple[_Sent, ...]) -> str:
    """COMMITs that stay flat say nothing by themselves: a small write may be asked to be stable at once."""
    if not sent:
        return ""
    asked, done = sum(found.syncs for found in sent), sum(found.commits for found in sent)
    said = f" {count(asked)} syncs sent {count(done)} COMMITs in {words.time_measured(found.step for found in sent)}"
    return f"{said}{': its writes were asked to be stable at once, or the syncs were not sent.' if not done else '.'}"
