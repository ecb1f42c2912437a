"""What goes with a container or a pod."""

from __future__ import annotations

import pytest

from fstui.judge import judge
from tests.factories.box import Box
from tests.factories.evidence import evidence, finding, rules
from tests.factories.looking import look
from tests.factories.storage import filesystem, on_disk

POD = "/var/lib/kubelet/pods/44dcd502-b16f-4680-a1fd-3faf5b35fd97/volumes"


@pytest.mark.parametrize("upper", [
    "/var/lib/docker/overlay2/ab12/diff", "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/9/fs",
    "/var/lib/containers/storage/overlay/ab12/diff", "/home/me/.local/share/containers/storage/overlay/ab12/diff",
])  # fmt: skip
def test_a_containers_own_layer_goes_with_it(box: Box, upper: str) -> None:
    box.mount("overlay", "/srv", "overlay", super_options=f"rw,lowerdir=/image,upperdir={upper}")
    found = finding(judge(evidence(look(box))), "container-layer")
    assert (found.verdict, found.title) == (None, "/srv: gone with its container")
    assert found.because == (f"mount:/srv upperdir: {upper} (/proc/self/mountinfo)",)


def test_a_pods_empty_directory_goes_with_the_pod(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", root=f"{POD}/kubernetes.io~empty-dir/cache")
    assert finding(judge(evidence(look(box))), "container-layer").title == "/srv: gone with its pod"


@pytest.mark.parametrize("root", ["/", "/data", f"{POD}/kubernetes.io~csi/pvc-1/mount"])
def test_a_volume_stays(box: Box, root: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", root=root)
    assert "container-layer" not in rules(judge(evidence(look(box))))


def test_an_upper_directory_that_was_named_by_a_relative_path_is_known_by_where_it_lies() -> None:
    layer = filesystem("overlay", upperdir="ab12/diff", upperdir_at="/var/lib/containers/storage/overlay/ab12/diff")
    found = finding(judge(evidence(on_disk(layer))), "container-layer")
    assert "upperdir_at: /var/lib/containers/storage/overlay/ab12/diff" in found.because[0]


def test_an_overlay_of_ones_own_stays() -> None:
    mine = filesystem("overlay", upperdir="/srv/upper")
    assert "container-layer" not in rules(judge(evidence(on_disk(mine))))
