"""Storage whose data is removed with a container, a pod or an instance."""

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
    """*a note: it does not change the verdict*

    ## What it means
    The directory is in the writable layer of a container, or in an `emptyDir` volume of a pod. The directory is deleted
    together with the container or pod, even if all syncs were durable.

    ## How it was measured
    `/proc/self/mountinfo` shows one of these mounts:

    - an overlay whose upper directory is in the storage of Docker (`overlay2`), containerd (snapshots), or Podman and
      CRI-O (`containers/storage`)
    - a bind mount whose source is below `kubernetes.io~empty-dir` in the kubelet's directory

    ## What it proves, and what it does not
    The note does not show whether syncs are durable; the verdict does. fstui knows only the default paths of these
    engines, so it overlooks a layer in another place. An `emptyDir` volume survives the restart of a container within
    its pod.

    ## What to do next
    Put the data on a volume (`docker run -v`, a PersistentVolumeClaim). Run fsync-rate in the directory where the
    volume is mounted.
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
    """*a note: it does not change the verdict*

    ## What it means
    The device is an instance store: it belongs to this cloud instance. Its data is lost when the instance stops, moves
    to another host or fails, even if all syncs were durable. AWS, Google and Azure document that the data survives a
    reboot.

    ## How it was measured
    fstui recognised the device by the model that it reports or, on Azure, by its bus address. The provider's
    documentation says what happens to the data.

    ## What it proves, and what it does not
    The note does not show whether syncs are durable; the verdict does. Synced data may survive a power cut of the
    host, and still be lost with the instance.

    ## What to do next
    Keep a copy elsewhere: use replication, or a volume that outlives the instance.
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
