"""Simulated disks reproduce published figures, with the same few parameters for all rows of a disk."""

from typing import Any

import pytest

from fstui.judge.references import NEVER_SYNCED, library
from tests.simulate.model import host, rate

NOISE = 0.15
DIRECT: dict[str, Any] = {"open_flags": ("direct",)}
LONG = {"seconds": 6.0}


@pytest.mark.parametrize(
    ("published", "disk", "changes", "settings"),
    [
        (21_200, "optane", {}, DIRECT),
        (20_000, "optane", {}, {}),
        (9_600, "optane", {"filesystem__data": "journal"}, {}),
        (23_000, "raid-cache", {}, {}),
        (7_300, "nvme-p3700", {}, {}),
        (13, "usb-hdd", {}, LONG),
        (3_100, "usb-hdd-dmcache", {}, {}),
        (2_500, "usb-hdd-bcache", {}, {}),
        (7_400, "usb-hdd-slog", {}, {}),
        (28, "usb-hdd-zfs", {}, LONG),
    ],
)
def test_published_fsync_rates_are_reproduced(
    published: float, disk: str, changes: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert rate(host(disk, **changes), sync="fsync", **settings) == pytest.approx(published, rel=NOISE)


@pytest.mark.parametrize(("published", "settings"), [(22.35, {}), (564.98, {**DIRECT, "sync_every": 100})])
def test_published_virtualbox_rates_are_reproduced(published: float, settings: dict[str, Any]) -> None:
    """fsync after each write, and O_DIRECT with an fsync after a hundred writes."""
    found = rate(host("virtualbox-2011"), seconds=15.0, block_bytes=16384, offsets="random", sync="fsync", **settings)
    assert found == pytest.approx(published, rel=NOISE)


@pytest.mark.parametrize(("disk", "medium"), [("ssd-consumer", "ssd"), ("ssd-plp", "ssd-plp")])
def test_disks_without_a_model_are_in_the_published_range(disk: str, medium: str) -> None:
    published = [one.per_s for one in library() if one.medium == medium and one.operation not in NEVER_SYNCED]
    for sync in ("fdatasync", "fsync"):
        assert min(published) <= rate(host(disk), sync=sync) <= max(published)


def test_cloud_volume_is_faster_with_o_dsync_than_fsync() -> None:
    dsync = rate(host("cloud-volume"), sync="none", open_flags=("direct", "dsync"))
    assert 1e6 / dsync == pytest.approx(590, rel=NOISE)  # µs, by ioping on such a volume
    assert dsync > 1.3 * rate(host("cloud-volume"), sync="fsync", prefill="none", offsets="append")
