"""Storage whose data is removed with a container, a pod or an instance."""

import pytest

from fstui.judge import judge
from fstui.model.storage import Medium
from tests.factories.box import Box
from tests.factories.evidence import evidence, finding, rules, verdict
from tests.factories.looking import look
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk

POD = "/var/lib/kubelet/pods/44dcd502-b16f-4680-a1fd-3faf5b35fd97/volumes"


@pytest.mark.parametrize("upper", [
    "/var/lib/docker/overlay2/ab12/diff", "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/9/fs",
    "/var/lib/containers/storage/overlay/ab12/diff", "/home/me/.local/share/containers/storage/overlay/ab12/diff",
])  # fmt: skip
def test_layer_of_a_container_is_deleted_with_it(box: Box, upper: str) -> None:
    box.mount("overlay", "/srv", "overlay", super_options=f"rw,lowerdir=/image,upperdir={upper}")
    found = finding(judge(evidence(look(box))), "container-layer")
    assert (found.verdict, found.title) == (None, "/srv: deleted with its container")
    assert found.evidence == (f"overlay /srv upperdir: {upper} (/proc/self/mountinfo)",)


def test_empty_dir_is_deleted_with_its_pod(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", root=f"{POD}/kubernetes.io~empty-dir/cache")
    assert finding(judge(evidence(look(box))), "container-layer").title == "/srv: deleted with its pod"


@pytest.mark.parametrize("root", ["/", "/data", f"{POD}/kubernetes.io~csi/pvc-1/mount"])
def test_volume_of_a_container_has_no_note(box: Box, root: str) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/srv", "ext4", root=root)
    assert "container-layer" not in rules(judge(evidence(look(box))))


def test_relative_upper_directory_is_resolved() -> None:
    layer = filesystem("overlay", upperdir="ab12/diff", upperdir_at="/var/lib/containers/storage/overlay/ab12/diff")
    found = finding(judge(evidence(on_disk(layer))), "container-layer")
    assert "upperdir_at: /var/lib/containers/storage/overlay/ab12/diff" in found.evidence[0]
    mine = filesystem("overlay", upperdir="/srv/upper")
    assert "container-layer" not in rules(judge(evidence(on_disk(mine))))


def test_ephemeral_disk_is_a_note() -> None:
    local = disk(medium=Medium(class_="ssd", ephemeral=True, reason="the model identifies an instance store of AWS"))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert found.verdict is None
    assert "However durable its syncs are, its data is lost" in found.sentence
    assert "is lost when the instance stops" in found.sentence
    assert "ephemeral" not in rules(verdict(on_disk(filesystem(), disk(medium=Medium(ephemeral=False)))))


@pytest.mark.parametrize(("model", "words"), [
    ("Amazon EC2 NVMe Instance Storage", "AWS: a reboot keeps it; a stop, a hibernation"),
    ("nvme_card3", "Google: a reboot of the guest and a live migration keep it; a stop loses it"),
    ("Microsoft NVMe Direct Disk v2", "Azure: a reboot keeps it; a stop, a redeployment and maintenance may lose it"),
])  # fmt: skip
def test_documents_about_reboot_and_stop_are_quoted(model: str, words: str) -> None:
    local = disk(model=model, medium=Medium(class_="ssd", ephemeral=True))
    found = finding(verdict(on_disk(filesystem(), local), step()), "ephemeral")
    assert words in found.sentence
    assert any(line.startswith("documented: ") for line in found.evidence)
