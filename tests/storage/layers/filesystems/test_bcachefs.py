"""bcachefs: all its members."""

from __future__ import annotations

from tests.factories.box import Box
from tests.factories.looking import look


def test_bcachefs_names_all_its_members(box: Box) -> None:
    box.disk("sda")
    box.disk("nvme0n1")
    box.mount("/dev/sda:/dev/nvme0n1", "/srv", "bcachefs", device="0:44")
    assert look(box).stack[0].below == ("sda", "nvme0n1")
