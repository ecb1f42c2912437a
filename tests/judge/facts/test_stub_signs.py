"""Signs that the syncs of a process do not reach the kernel."""

import pytest

from fstui.judge.facts.configuration import stub_signs
from fstui.model.host import Process
from tests.factories.evidence import HONEST_PROCESS
from tests.factories.storage import readings


def test_each_sign_is_a_line() -> None:
    library = readings(preload="/usr/lib/libeatmydata.so")
    stubbed = Process(pipe_fsync_fails=False, dsync_flag_kept=False, preloads=library)
    assert list(stub_signs(stubbed)) == [
        "fsync of a pipe: succeeded; the kernel refuses it with EINVAL",
        "O_DSYNC: missing on the file that was opened with it (F_GETFL)",
        "preloaded: /usr/lib/libeatmydata.so (/read/preload)",
    ]
    assert list(stub_signs(HONEST_PROCESS)) == list(stub_signs(Process())) == []


@pytest.mark.parametrize(("left_dirty", "stubbed"), [
    ({}, True),
    ({"fsync": (12, 0), "fdatasync": (12, 0)}, False),
    ({"fsync": (12, 0)}, True),
    ({"fsync": (12, 0), "fdatasync": (1, 0)}, True),
    ({"fsync": (12, 6), "fdatasync": (12, 0)}, True),
], ids=["page cache unknown", "clean", "one call only", "too few tries", "left dirty"])  # fmt: skip
def test_success_on_a_pipe_is_no_sign_if_syncs_clean_pages(
    left_dirty: dict[str, tuple[int, int]], stubbed: bool
) -> None:
    """A library that replaces fsync(2) by syncfs(2) also succeeds on a pipe."""
    assert bool(list(stub_signs(Process(pipe_fsync_fails=False, left_dirty=left_dirty)))) is stubbed


def test_one_dirty_page_is_no_sign() -> None:
    """The end of a write may be reported late."""
    assert list(stub_signs(Process(left_dirty={"fsync": (76, 1), "fdatasync": (76, 0)}))) == []
    assert list(stub_signs(Process(left_dirty={"fsync": (12, 1), "fdatasync": (12, 1)}))) == [
        "fsync: 1 of 12 left their file dirty in memory; the system call leaves none",
        "fdatasync: 1 of 12 left their file dirty in memory; the system call leaves none",
    ]
