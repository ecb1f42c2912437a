"""*a note*

## What it means
The directory lies in what a container or a pod brings along: the writable layer that its engine lays over the image, or
a pod's `emptyDir`. It is removed with the container, or with the pod, however honest its syncs are.

## How it was measured
Of an overlay, its upper directory in the mount: below Docker's `overlay2`, containerd's snapshots, or
`containers/storage` of Podman and CRI-O. Of a bind mount, the directory that it shows: `kubernetes.io~empty-dir` below
the kubelet's pods (`/proc/self/mountinfo`).

## What it proves, and what not
A separate axis from honesty: the verdict speaks of the syncs alone. The names are those of the engines' defaults; a
layer that lies elsewhere is not recognised. An `emptyDir` outlives a container that is restarted within its pod.

## What to do next
Put data on a volume: `docker run -v`, a PersistentVolumeClaim; run fsync-rate in the directory where it is mounted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import rule
from fstui.judge.facts import Case
from fstui.model.judgement import Finding
from fstui.model.storage import Node, Reading


class _Scratch(NamedTuple):
    what: str
    owner: str
    told: Reading


_LAYERS = re.compile(r"/docker/overlay2/|/io\.containerd\.snapshotter|/containers/storage/overlay/")
_KNOWN = (
    ("upperdir", _LAYERS, "the writable layer of a container", "container"),
    ("upperdir_at", _LAYERS, "the writable layer of a container", "container"),
    ("root", re.compile(r"/pods/[^/]+/volumes/kubernetes\.io~empty-dir/"), "an emptyDir of a pod", "pod"),
)  # fmt: skip


@rule(place=71)
def container_layer(case: Case) -> Iterator[Finding]:
    """What a container or a pod brings along goes with it."""
    top = next(iter(case.stack.nodes), None)
    found = _scratch(top) if top is not None else None
    if top is not None and found is not None:
        yield Finding(
            rule="container-layer",
            verdict=None,
            confidence="high",
            scope="storage",
            title=f"{top.name}: gone with its {found.owner}",
            sentence=f"{top.name} is {found.what}: whatever a sync is worth there, the data is gone when the "
            f"{found.owner} is removed.",
            because=(words.reading(top, found.told),),
            next=("Put the data on a volume, and run fsync-rate in the directory where it is mounted.",),
        )


def _scratch(top: Node) -> _Scratch | None:
    told = ((top.reading(what), pattern, named, owner) for what, pattern, named, owner in _KNOWN)
    return next(
        (_Scratch(named, owner, it) for it, pattern, named, owner in told if it and pattern.search(it.value)), None
    )
