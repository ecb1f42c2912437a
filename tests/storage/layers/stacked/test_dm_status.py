"""In what state device-mapper devices are."""

from __future__ import annotations

import pytest

from fstui.model.storage import Target
from fstui.storage.layers.sources.claims import Answer, Claims
from fstui.storage.layers.stacked import dm_status
from fstui.storage.survey import survey
from tests.factories.box import Box
from tests.factories.evidence import finding, rules, verdict
from tests.factories.looking import look, target


def seen(box: Box, **told: str) -> Target:
    answers: Claims = {
        f"dmsetup {what}".replace("status", "status --noflush"): Answer(output=told[what]) for what in told
    }
    return target(survey(box.root, answers), "/srv")


def on_dm(box: Box, label: str, slaves: tuple[str, ...]) -> None:
    box.dm("dm-9", label, "", slaves)
    box.mount(f"/dev/mapper/{label}", "/srv", "ext4", device=box.number_of["dm-9"])


@pytest.mark.parametrize(("line", "wrong"), [
    ("x: 0 819200 thin-pool 1 12/4096 6400/6400 - out_of_data_space discard_passdown queue_if_no_space - 1024",
     ["out_of_data_space"]),
    ("x: 0 819200 thin-pool 1 12/4096 64/6400 - rw discard_passdown queue_if_no_space - 1024", []),
    ("x: 0 819200 thin-pool 1 12/4096 64/6400 - ro discard_passdown error_if_no_space needs_check 1024",
     ["ro", "needs_check"]),
    ("x: 0 819200 thin-pool Fail", ["Fail"]), ("x: 0 409600 thin Fail", ["Fail"]), ("x: 0 409600 thin 8 409599", []),
    ("x: 0 409600 snapshot Overflow", ["Overflow"]), ("x: 0 409600 snapshot 16/2048 16", []),
    ("x: 0 409600 snapshot-merge Merge failed", ["Merge failed"]), ("x: 0 8 linear ", []), ("x: 0 8 linear", []),
    ("x: 0 409600 cache Error", ["Error"]), ("x: 0 409600 crypt ro", []),
    ("x: 0 8 writecache 5 96768 96768 0 0 0 0 0 0 0 0 0 0 0", ["error 5"]), ("x: 0 8 writecache", []),
    ("x: 0 8 thin Fail\nx: 8 8 linear \nx: 16 8 snapshot Invalid\nx: 24 8 snapshot Invalid", ["Fail", "Invalid"]),
])  # fmt: skip
def test_what_is_wrong_is_said_in_the_kernels_word(box: Box, line: str, wrong: list[str]) -> None:
    box.disk("sda")
    on_dm(box, "x", ("sda",))
    state = seen(box, status=line).node("dm-9").state
    assert [reading.value for reading in state] == wrong
    assert all((reading.what, reading.path) == ("status", dm_status.PATH) for reading in state)


def test_one_that_is_suspended_may_be_in_trouble_as_well(box: Box) -> None:
    box.disk("sda")
    on_dm(box, "x", ("sda",))
    box.write("/sys/block/dm-9/dm/suspended", "1\n")
    state = seen(box, status="x: 0 8 thin Fail").node("dm-9").state
    assert [reading.what for reading in state] == ["suspended", "status"]


def test_trouble_is_said_first_and_another_devices_is_not_ours(box: Box) -> None:
    box.disk("sda")
    on_dm(box, "x", ("sda",))
    found = finding(verdict(seen(box, status="x: 0 8 snapshot Invalid")), "stack-state")
    assert "dm-9 status: Invalid" in found.sentence
    assert "stack-state" not in rules(verdict(seen(box, status="y: 0 8 snapshot Invalid")))
    assert "stack-state" not in rules(verdict(look(box)))


@pytest.mark.parametrize(("mode", "free", "verdict_"), [
    ("cleaner", 96768, "cannot-tell"), ("cleaner", 96767, "not-durable"), ("metadata_only", 96768, "not-durable"),
    ("", 96768, "not-durable"), ("cleaner", "1\nx: 819200 8 writecache 0 96768 96768", "not-durable"),
    ("cleaner", "96768\nx: 819200 8 writecache 0 96768 1", "not-durable"),
])  # fmt: skip
def test_a_cleaned_writecache_in_memory_that_holds_nothing_loses_nothing(
    box: Box, mode: str, free: int | str, verdict_: str
) -> None:
    box.disk("sda")
    box.disk("zram0", "virtual")
    on_dm(box, "x", ("sda", "zram0"))
    origin, cache = box.number_of["sda"], box.number_of["zram0"]
    table = f"x: 0 819200 writecache s {origin} {cache} 4096 1 {mode}"
    told = seen(box, table=table, status=f"x: 0 819200 writecache 0 96768 {free} 0 0 0 0 0 0 0 0 0 0 0")
    assert verdict(told).verdict == verdict_
