"""What is said of a storage."""

from __future__ import annotations

from fstui.model.storage import Space


def test_a_filesystem_that_states_no_size_has_no_room_that_could_be_too_little() -> None:
    assert Space.stated(0, 0) is None
    assert Space.stated(4096, 0) == Space(total_bytes=4096, free_bytes=0)
