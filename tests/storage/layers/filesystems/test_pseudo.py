"""Windows into the kernel."""

from __future__ import annotations

import pytest

from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.looking import look


@pytest.mark.parametrize("kind", ["proc", "sysfs", "cgroup2", "tracefs", "bpf", "autofs", "devpts"])
def test_they_hold_no_files_wherever_they_are_mounted(box: Box, kind: str) -> None:
    box.mount(kind, "/srv", kind)
    assert look(box).pseudo


def test_they_come_after_what_holds_files(box: Box) -> None:
    box.mount("proc", "/proc", "proc")
    box.mount("tmpfs", "/srv", "tmpfs")
    assert [target.mount_point for target in survey(box.root).filesystems] == ["/srv", "/proc"]


def test_a_filesystem_that_is_mounted_below_them_is_no_window_by_its_type(box: Box) -> None:
    box.disk("sda")
    box.mount("/dev/sda", "/sysroot", "ext4")
    assert not look(box, "/sysroot").pseudo
