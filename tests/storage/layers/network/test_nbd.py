"""Devices that an nbd server answers for."""

from __future__ import annotations

import pytest

from tests.factories.box import Box
from tests.factories.evidence import rules, verdict
from tests.factories.looking import look


@pytest.mark.parametrize(("flags", "fua", "found"), [
    ("Known flags:\nNBD_FLAG_SEND_FLUSH\n", "0", True), ("", "1", True), ("", "0", False),
], ids=["debugfs", "FUA", "no flush offered"])  # fmt: skip
def test_write_through_override_of_an_nbd_device(box: Box, flags: str, fua: str, found: bool) -> None:
    box.device("nbd0", write_cache="write through", request_based=True)
    box.mount("/dev/nbd0", "/srv", "ext4")
    box.write("/sys/devices/virtual/block/nbd0/queue/fua", fua)
    box.write("/sys/kernel/debug/nbd/nbd0/flags", f"Hex: 0x0000000d\n\n{flags}")
    judged = verdict(look(box))
    assert ("write-through-override" in rules(judged)) is found
    assert judged.verdict == "cannot-tell"  # the server may write each request through
