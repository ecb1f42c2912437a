"""What is said of a storage."""

from fstui.model.storage import Space


def test_filesystem_without_a_size_has_no_space_figure() -> None:
    assert Space.from_statvfs(0, 0) is None
    assert Space.from_statvfs(4096, 0) == Space(total_bytes=4096, free_bytes=0)
