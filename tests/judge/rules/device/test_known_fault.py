"""Drives whose firmware was reported to lose flushed data."""

import pytest
from msgspec.structs import replace

from fstui.storage.layers.devices import models
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, on_array, on_disk, readings

GREEN = "WDC WD20EZRX-00D"


FAULTY = disk(model=GREEN, write_cache="write back", readings=readings(firmware="0A80"))


def test_drive_with_its_cache_on_is_flagged() -> None:
    found = finding(verdict(on_disk(None, FAULTY), step()), "known-fault")
    assert (found.verdict, found.confidence) == ("suspicious", "low")
    assert "linux-btrfs" in found.evidence[-1] and "hdparm -W 0 /dev/sda" in found.next[0]


def test_drive_that_reports_its_cache_off_is_not_flagged() -> None:
    """The kernel may not have noticed it: 'sdparm --clear=WCE' goes past the kernel."""
    switched_off = replace(FAULTY, readings=readings(firmware="0A80", drive_cache="off"))
    assert "known-fault" not in rules(verdict(on_disk(None, switched_off), step()))


def test_mirror_has_a_copy_on_another_drive() -> None:
    found = finding(verdict(on_array(FAULTY, disk("sdb")), step()), "known-fault")
    assert (found.verdict, found.confidence) == (None, "low")


@pytest.mark.parametrize(("model", "cache", "firmware"), [
    (GREEN, "write through", "0A80"),
    (GREEN, "write back", "0A81"),
    ("WDC WD20EZRX-22D", "write back", "0A80"),
])  # fmt: skip
def test_other_drives_are_not_accused(model: str, cache: str, firmware: str) -> None:
    where = on_disk(None, disk(model=model, write_cache=cache, readings=readings(firmware=firmware)))
    assert "known-fault" not in rules(verdict(where, step()))


@pytest.mark.parametrize("firmware", ["80.00A80", "0A80", "80.0"])
def test_revision_is_recognised_as_the_kernel_shortens_it(firmware: str) -> None:
    assert models.find_fault(GREEN, firmware)
