"""Filesystems that are read-only by nature."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.looking import look, trouble


@pytest.mark.parametrize(("kind", "state"), [("iso9660", []), ("xfs", [("forced read-only", "mounted rw, now ro")])])
def test_a_filesystem_that_is_always_read_only_is_in_no_trouble(
    box: Box, kind: str, state: list[tuple[str, str]]
) -> None:
    box.disk("sr0")
    box.mount("/dev/sr0", "/srv", kind, options="rw", super_options="ro")
    assert trouble(look(box).stack[0]) == state
