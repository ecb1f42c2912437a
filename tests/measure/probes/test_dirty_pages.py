"""What /proc/self/smaps tells of a mapped page."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from fstui.measure.probes.dirty_pages import File, dirty_kb, tellers
from fstui.measure.probes.sync_path import read_text

SMAPS = """\
7f0000000000-7f0000001000 r--s 00000000 00:2f 12                         /mnt/work/sync-path
Size:                  4 kB
Shared_Dirty:          0 kB
Private_Dirty:         4 kB
7f0000001000-7f0000002000 r--s 00000000 00:2f 13                         /mnt/work/sync-path-beside
Shared_Dirty:          0 kB
Private_Dirty:         0 kB
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
Private_Dirty:        64 kB
"""


def test_only_mappings_of_that_file_are_counted() -> None:
    assert dirty_kb(SMAPS, "sync-path") == 4
    assert dirty_kb(SMAPS, "sync-path-beside") == dirty_kb(SMAPS, "else") == dirty_kb("", "sync-path") == 0


def test_each_way_that_sees_a_page_dirty_sees_it_clean_after_a_sync(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with ExitStack() as closing:
        file = File(os.open(path, os.O_RDWR | os.O_CREAT), path)
        closing.callback(os.close, file.fd)
        for told in tellers(closing, read_text):
            os.pwrite(file.fd, b"x", 0)
            if not told(file):
                pytest.skip("the page cache does not tell: tests whose directory is in memory")
            os.fsync(file.fd)
            assert not told(file)


def test_under_a_filter_of_calls_only_the_mapping_is_asked() -> None:
    with ExitStack() as closing:
        assert len(tellers(closing, lambda name: "Seccomp:\t2\n")) == 1
