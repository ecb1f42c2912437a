"""ZFS pools: what a pool, and a group of its disks, hands to those below."""

from __future__ import annotations

import pytest

from fstui.model.storage import Node, Reading
from fstui.storage.layers import kind
from fstui.storage.layers.handing import ALL, AT_TIMES, FLUSHES_ONLY, INTENT_LOG, NOTHING, Handed, Member
from tests.factories.evidence import rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, readings, target

POOL = Node(id="pool:tank", layer="pool", kind="zpool", name="tank")
LATENCY, THROUGHPUT = filesystem("zfs", logbias="latency"), filesystem("zfs", logbias="throughput")


def handed(role: str | None, *others: str | None, dataset: Node = LATENCY) -> Handed:
    return kind("zpool").hands(POOL, Member("sda", role), (role, *others), dataset)


def test_the_intent_log_goes_to_its_own_device_where_there_is_one() -> None:
    assert handed(None) == INTENT_LOG
    assert (handed("slog", None), handed(None, "slog")) == (INTENT_LOG, AT_TIMES)


def test_a_dataset_that_writes_past_the_log_shares_its_writes_over_the_others() -> None:
    assert handed("slog", None, dataset=THROUGHPUT) == AT_TIMES
    assert handed(None, "slog", dataset=THROUGHPUT) == INTENT_LOG


@pytest.mark.parametrize("role", ["l2arc", "spare"])
def test_what_holds_no_data_gets_nothing(role: str) -> None:
    assert handed(role, None) == NOTHING


@pytest.mark.parametrize(("name", "tolerates", "gets"), [
    ("mirror-0", 3, ALL), ("raidz1-0", 1, FLUSHES_ONLY), ("raidz2-0", 2, FLUSHES_ONLY), ("raidz3-1", 3, FLUSHES_ONLY),
    ("draid2:4d:9c:1s-0", 2, FLUSHES_ONLY), ("replacing-0", 0, AT_TIMES),
])  # fmt: skip
def test_a_group_does_without_as_many_as_its_name_says(name: str, tolerates: int, gets: Handed) -> None:
    group = next(group for group in ("mirror", "raidz", "draid", "replacing") if name.startswith(group))
    vdev = Node(id=f"vdev:{name}", layer="pool", kind=group, name=name)
    assert kind(group).tolerates(vdev, 4) == tolerates
    assert kind(group).hands(vdev, Member("sda", "mirror leg"), ("mirror leg",) * 4, LATENCY) == gets


def test_a_group_hands_on_whatever_its_members_were_read_as() -> None:
    log = Reading(what="role", value="slog", path="zpool status")
    mirror = Node(id="vdev:mirror-1", layer="pool", kind="mirror", name="mirror-1", readings=(log,))
    assert kind("mirror").hands(mirror, Member("sdb", "slog"), ("slog", "slog"), LATENCY) == ALL


def test_without_a_log_of_its_own_the_intent_log_may_be_on_a_special_vdev() -> None:
    """So OpenZFS from 2.4 on: its data's disks get no flush then."""
    assert (handed("special", None), handed(None, "special")) == (INTENT_LOG, INTENT_LOG)
    assert handed("special", None, "slog") == AT_TIMES
    where = target(
        filesystem("zfs", "/tank", below=("pool:tank",)),
        Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=("sda", "sdb")),
        disk(),
        disk("sdb", readings=readings(role="special")),
    )
    for flushes in ({"sda": 1.0, "sdb": 0.0}, {"sda": 0.0, "sdb": 1.0}):
        assert "flushes-missing" not in rules(verdict(where, step(flushes=flushes)))
    assert "flushes-missing" in rules(verdict(where, step(flushes={"sda": 0.1, "sdb": 0.1})))
