from tests.factories.box import Box
from tests.factories.looking import look, roles, trouble


def test_nvme_multipath_head_has_paths_and_states(box: Box) -> None:
    box.device("nvme0n1", "virtual/nvme-subsystem/nvme-subsys0")
    for name, state in (("nvme0c0n1", "live"), ("nvme0c1n1", "connecting")):
        files: dict[str, str | bytes] = {"device/transport": "tcp", "device/state": state}
        box.disk(name, "virtual/nvme-fabrics/ctl/nvme0", files=files)
    box.mount("/dev/nvme0n1", "/srv", "xfs")
    found = look(box)
    assert roles(found) == {"nvme0c0n1": "path", "nvme0c1n1": "path"}
    assert [node.id for node in found.stack if node.counted] == ["nvme0c0n1", "nvme0c1n1"]
    assert trouble(found.node("nvme0c1n1")) == [("state", "connecting")]
    medium = found.node("nvme0c0n1").medium
    assert medium is not None
    assert (medium.class_, "tcp" in medium.reason) == ("network", True)
