"""How protected caches and hosts without a flush change other verdicts."""

from __future__ import annotations

import pytest

from fstui.model.storage import Medium
from tests.factories.evidence import GUEST, METAL, finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import disk, filesystem, on_disk, readings

PLP = Medium(class_="ssd-plp", write_cache="plp")


def test_protected_drive_may_be_set_to_write_through() -> None:
    told = readings(cache_type="write back")
    through = on_disk(None, disk(write_cache="write through", readings=told))
    assert "write-through-override" in rules(verdict(through))
    protected = on_disk(None, disk(write_cache="write through", readings=told, medium=PLP))
    assert "write-through-override" not in rules(verdict(protected))


@pytest.mark.parametrize(("offered", "word"), [("no", "cannot-tell"), ("yes", "plausible")])
def test_barriers_off_on_a_host_without_flush(offered: str, word: str) -> None:
    virtual = disk("vda", link="virtio", write_cache="write through", readings=readings(F_FLUSH=offered))
    stack = on_disk(filesystem(below=("vda",), barrier="nobarrier"), virtual)
    assert finding(verdict(stack, host=GUEST), "barriers-off").verdict == word


def test_o_dsync_may_be_cheaper_if_no_flush_is_expected() -> None:
    quick = step("O_DSYNC", rate=9000, flushes=0.0, sync="none", open_flags=("dsync",))
    through = verdict(on_disk(None, disk(write_cache="write through")), step(flushes=0.0), quick, host=METAL)
    assert finding(through, "odsync-cheaper").verdict is None
