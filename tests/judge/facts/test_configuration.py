"""When the configuration alone makes a sync worth nothing."""

import pytest

from fstui.judge import Case
from fstui.model.counters import DeviceCounters
from fstui.model.host import Process
from fstui.model.run import Evidence
from fstui.model.storage import Medium, Node
from tests.factories.evidence import evidence
from tests.factories.steps import step
from tests.factories.storage import block, disk, filesystem, on_disk, readings, target

PLP = Medium(class_="ssd-plp", write_cache="plp")
ZFS = target(
    filesystem("zfs", "/tank", below=("pool:tank",)),
    Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda",)),
    disk(),
)
LINEAR = target(filesystem(below=("dm-0",)), block("dm-0", "dm-linear", "sda"), disk())
SNAPSHOT = target(
    filesystem(below=("dm-0",)), block("dm-0", "dm-snapshot", "sda", readings=readings(persistent="no")), disk()
)
UNCOMMITTED = step(changes={"counters": (DeviceCounters(device="mount:/tank", commits=0),)})


@pytest.mark.parametrize(
    ("seen", "breaks"),
    [
        (evidence(None, step()), False),
        (evidence(None, process=Process(pipe_fsync_fails=False)), True),
        (evidence(None, like=Process(pipe_fsync_fails=False)), False),
        (evidence(target(filesystem("tmpfs", below=()))), True),
        (evidence(target(filesystem("overlay", volatile="volatile", below=()))), True),
        (evidence(on_disk(filesystem("zfs", sync="disabled"))), True),
        (evidence(ZFS, UNCOMMITTED), True),
        (evidence(ZFS, UNCOMMITTED, process=Process(pipe_fsync_fails=False)), True),
        (evidence(on_disk(filesystem(barrier="nobarrier"))), True),
        (evidence(on_disk(filesystem(barrier="nobarrier"), disk(medium=PLP))), False),
        (evidence(on_disk(filesystem(), disk(write_cache="write through", readings=readings(vwc="present")))), True),
        (evidence(on_disk(filesystem(), disk(write_cache="write through"))), False),
        (evidence(LINEAR, step()), False),
        (evidence(SNAPSHOT, step()), True),
        (evidence(on_disk(filesystem("cifs", strict_sync="no")), step()), True),
    ],
    ids=[
        "honest", "stubbed", "another process is stubbed", "memory", "volatile", "sync=disabled", "no ZIL commits",
        "stubbed above ZFS", "no barriers", "no barriers, protected", "overridden", "write through", "linear",
        "snapshot that is not persistent", "syncs not sent",
    ],
)  # fmt: skip
def test_configuration_breaks_syncs(seen: Evidence, breaks: bool) -> None:
    assert Case(seen).configuration.breaks_sync is breaks
