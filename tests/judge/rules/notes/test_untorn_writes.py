"""What the kernel states about writes that are never torn."""

from typing import Any

from fstui.storage.layers.facts import ATOMIC_WRITE_SIZE
from tests.factories.evidence import finding, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings


def test_size_of_the_filesystem_counts_and_nothing_is_proven() -> None:
    stated: dict[str, Any] = {ATOMIC_WRITE_SIZE: "16384"}
    where = on_disk(filesystem(**stated), disk(readings=readings(**{ATOMIC_WRITE_SIZE: "65536"})))
    found = finding(verdict(where, step()), "untorn-writes")
    assert (found.verdict, found.title) == (None, "untorn writes of up to 16 KiB, as reported by ext4 /srv")
    assert "sda 64 KiB" in found.sentence and "not proven" in found.sentence
    assert "doublewrite" in found.next[0]


def test_filesystem_may_report_more_than_its_device() -> None:
    """As XFS does since Linux 6.16: it writes to a new place first, with devices of any kind."""
    stated: dict[str, Any] = {ATOMIC_WRITE_SIZE: "1048576"}
    where = on_disk(filesystem("xfs", **stated), disk(readings=readings(**{ATOMIC_WRITE_SIZE: "16384"})))
    assert "up to 1.0 MiB, as reported by xfs" in finding(verdict(where, step()), "untorn-writes").title


def test_filesystem_that_states_nothing_is_named() -> None:
    found = finding(
        verdict(on_disk(None, disk(readings=readings(**{ATOMIC_WRITE_SIZE: "16384"}))), step()), "untorn-writes"
    )
    assert found.title == "untorn writes reported by the device only"
    assert "ext4 /srv itself reports nothing" in found.sentence
