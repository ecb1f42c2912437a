"""Storage whose data is removed with a container, a pod or an instance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fstui.judge import words
from fstui.judge.declaration import Conclusion, rule
from fstui.judge.facts import Case
from fstui.storage.layers.devices import media


class _Scratch(NamedTuple):
    """A place whose data is deleted with its owner. ``pattern`` matches the value of the mount's ``reading``."""

    reading: str
    pattern: re.Pattern[str]
    what: str
    owner: str


_CONTAINER_LAYER = re.compile(r"/docker/overlay2/|/io\.containerd\.snapshotter|/containers/storage/overlay/")
_EMPTY_DIR = re.compile(r"/pods/[^/]+/volumes/kubernetes\.io~empty-dir/")
_SCRATCH_PLACES = (
    _Scratch("upperdir", _CONTAINER_LAYER, "the writable layer of a container", "container"),
    _Scratch("upperdir_at", _CONTAINER_LAYER, "the writable layer of a container", "container"),
    _Scratch("root", _EMPTY_DIR, "an emptyDir of a pod", "pod"),
)


@rule(order=71)
def container_layer(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    The directory is deleted together with its container or pod, however durable its syncs are. It is the container's
    writable layer, or a pod's `emptyDir`.

    ## How it was measured
    By the mount in `/proc/self/mountinfo`:

    - the upper directory of an overlay is below Docker's `overlay2`, containerd's snapshots, or `containers/storage`
      (Podman, CRI-O)
    - the directory of a bind mount is `kubernetes.io~empty-dir` below the kubelet's pods

    ## What it proves, and what it does not
    It says nothing about durability, which the verdict covers. The paths are the engines' defaults, so a layer in
    another place is not recognised. An `emptyDir` survives the restart of a container within its pod.

    ## What to do next
    Put data on a volume: `docker run -v`, a PersistentVolumeClaim. Run fsync-rate in the directory where it is mounted.
    """
    top = next(iter(case.stack.nodes), None)
    if top is None:
        return
    for scratch in _SCRATCH_PLACES:
        reading = top.reading(scratch.reading)
        if reading and scratch.pattern.search(reading.value):
            yield Conclusion(
                title=f"{top.name}: deleted with its {scratch.owner}",
                sentence=f"{top.name} is {scratch.what}. The data is deleted when the {scratch.owner} is removed, "
                "however durable its syncs are.",
                evidence=(words.reading(top, reading),),
                next=("Put the data on a volume, and run fsync-rate in the directory where it is mounted.",),
            )
            return


@rule(order=70)
def ephemeral(case: Case) -> Iterator[Conclusion]:
    """*a note*

    ## What it means
    The device belongs to this instance: its data is lost when the instance stops, moves or fails, however durable its
    syncs are. AWS, Google and Azure document that a reboot keeps the data.

    ## How it was measured
    By the model that the device reports, or its place on Azure's bus. The provider documents what happens to the data.

    ## What it proves, and what it does not
    It says nothing about durability, which the verdict covers. A sync may survive a power cut of the host, and the data
    is still lost with the instance.

    ## What to do next
    Keep a copy elsewhere: replication, or a volume that outlives the instance.
    """
    devices = [node for node in case.stack.lowest if node.medium and node.medium.ephemeral]
    if not devices:
        return
    models = tuple(dict.fromkeys(model for node in devices if (model := media.cloud_model(node))))
    survival = dict.fromkeys(model.data_lifetime for model in models if model.data_lifetime)
    yield Conclusion(
        title=f"{words.devices(devices)}: ephemeral",
        sentence=f"{words.devices(devices)} is local to this instance. However durable its syncs are, its data is lost "
        "when the instance stops, moves or fails." + (f" {words.join_words(survival)}." if survival else ""),
        evidence=(
            *(f"{node.id}: {node.medium.reason}" for node in devices if node.medium),
            *(f"documented: {model.source}" for model in models if model.data_lifetime),
        ),
        next=("Keep a copy elsewhere: replication, or a volume that outlives the instance.",),
    )
