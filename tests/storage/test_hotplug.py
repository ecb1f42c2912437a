import os
import subprocess
from pathlib import Path

import pytest

from fstui.storage.hotplug import Watch
from tests.factories.box import Box
from tests.real.disks import unmount


def test_mount_and_new_disk_are_changes(box: Box) -> None:
    path = box.disk("sda")
    box.mount("/dev/sda", "/", "ext4")
    watch = Watch(box.root)
    box.write(f"{path}/stat", "1 2 3")
    assert not watch.has_changed()
    box.disk("sdb")
    assert watch.has_changed()
    assert not watch.has_changed()
    box.mount("/dev/sdb", "/srv", "ext4")
    assert watch.has_changed()
    watch.close()


@pytest.mark.root
def test_kernel_reports_real_mounts(tmp_path: Path) -> None:
    watch = Watch()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "fstui-tests", str(tmp_path)], check=True)
        assert watch.has_changed()
        unmount(tmp_path)
        assert watch.has_changed()
    finally:
        watch.close()


def test_closed_watch_holds_nothing_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    watch = Watch()
    watch.close()
    assert set(os.listdir("/proc/self/fd")) <= before
