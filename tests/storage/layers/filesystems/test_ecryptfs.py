"""eCryptfs, whose files lie in a directory of another filesystem."""

from __future__ import annotations

from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import edges, look
from tests.factories.steps import step


def mounted(box: Box, below: str, **options: str) -> None:
    if below == "tmpfs":
        box.mount("tmpfs", "/home/.kept", "tmpfs", device="0:41")
    else:
        box.disk("sda")
        box.mount("/dev/sda", "/home/.kept", below, **options)
    box.mount("/home/.kept/private", "/srv", "ecryptfs", device="0:42")


def test_it_stands_on_the_filesystem_that_holds_its_directory(box: Box) -> None:
    mounted(box, "ext4")
    assert edges(look(box)) == {"mount:/srv": ("mount:/home/.kept",), "mount:/home/.kept": ("sda",), "sda": ()}


def test_in_memory_it_forgets(box: Box) -> None:
    mounted(box, "tmpfs")
    assert finding(verdict(look(box)), "in-memory").verdict == "not-durable"


def test_over_a_filesystem_without_barriers_its_syncs_are_not_sent(box: Box) -> None:
    mounted(box, "xfs", super_options="rw,nobarrier")
    assert finding(verdict(look(box)), "barriers-off").verdict == "not-durable"


def test_an_fsync_below_for_each_of_its_syncs_accuses_nobody(box: Box) -> None:
    mounted(box, "ext4")
    for flushes in (1.0, 2.0):
        assert not rules(verdict(look(box), step(flushes=flushes))) & {"flushes-missing", "bytes-missing"}


def test_over_its_own_directory_it_hides_what_it_stands_on(box: Box) -> None:
    box.mount("/srv", "/srv", "ecryptfs", device="0:42")
    assert look(box).stack[0].below == ()
