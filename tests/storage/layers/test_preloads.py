from __future__ import annotations

import pytest

from fstui.storage.layers.preloads import stubs_syncs


@pytest.mark.parametrize(
    "path",
    ["/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0", "libeatmydata.so", "/opt/libnosync.so", "libnofsync.so.1",
     "libfakesync.so", "libfsyncstub.so", "libfsync-off.so", "/x/Disable-FSync.so"],
)  # fmt: skip
def test_a_library_that_leaves_syncs_out(path: str) -> None:
    assert stubs_syncs(path)


@pytest.mark.parametrize("path", ["/home/eatmydata/lib/libjemalloc.so.2", "libsyncthing.so", "/lib/libc.so.6", ""])
def test_any_other(path: str) -> None:
    assert not stubs_syncs(path)
