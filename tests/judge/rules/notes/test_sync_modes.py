"""Ways of writing that sync every write, or none."""

import pytest
from msgspec.structs import replace

from fstui.model.steps import Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, on_disk, target


def test_mount_with_sync_makes_every_write_durable() -> None:
    mounted = on_disk(filesystem(sync_option="sync"))
    direct = step("O_DIRECT", sync="none", open_flags=("direct",), flushes=1)
    twice = step("fdatasync", flushes=2)
    judged = verdict(mounted, direct, twice)
    assert rules(judged) == {"mounted-sync", "flushes-arrive"}
    assert (judged.verdict, finding(judged, "mounted-sync").scope) == ("consistent", "storage")
    evidence = finding(judged, "flushes-arrive").evidence
    assert any("O_DIRECT: 2\xa0000 flushes for 2\xa0000 syncs" in line for line in evidence)


def test_mount_with_sync_expects_a_flush_per_write() -> None:
    plainly = step("write", sync="none", flushes=0)
    assert verdict(on_disk(filesystem(sync_option="sync")), plainly).verdict == "not-durable"
    assert verdict(on_disk(filesystem()), plainly).verdict == "cannot-tell"


def test_directory_with_chattr_makes_every_write_durable() -> None:
    judged = verdict(on_disk(filesystem(sync_flag="S")), step("fdatasync", flushes=2))
    assert judged.verdict == "consistent"
    found = finding(judged, "mounted-sync")
    assert (found.title, found.next) == (
        "marked by chattr +S: every write is synced", ("To measure the sync calls alone, first run: 'chattr -S /srv'",)
    )  # fmt: skip


def test_mount_or_directory_is_named() -> None:
    options = ((filesystem(sync_option="sync"), "/srv is mounted"), (filesystem(sync_flag="S"), "/srv/data is marked"))
    for top, start in options:
        inside = replace(on_disk(top), path="/srv/data")
        assert finding(verdict(inside), "mounted-sync").sentence.startswith(start)


def test_zfs_ignores_the_mount_option() -> None:
    assert "mounted-sync" not in rules(verdict(on_disk(filesystem("zfs", sync_option="sync")), step()))


def test_o_direct_alone_is_not_durable() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes=0)
    found = finding(verdict(None, direct), "odirect-alone")
    assert (found.verdict, found.scope) == (None, "step")
    assert "20\xa0000/s" in found.sentence


@pytest.mark.parametrize(
    "done",
    [
        step("O_DIRECT", ops=0, sync="none", open_flags=("direct",), flushes=None),
        step("O_DIRECT+O_DSYNC", sync="none", open_flags=("direct", "dsync")),
        step("write", sync="none", flushes=0),
    ],
    ids=["none was written", "synced", "buffered"],
)
def test_synced_or_buffered_step_is_not_o_direct_alone(done: Step) -> None:
    assert "odirect-alone" not in rules(verdict(None, done))


def test_o_direct_note_needs_a_visible_device() -> None:
    direct = step("O_DIRECT", rate=20_000, sync="none", open_flags=("direct",), flushes={})
    assert "odirect-alone" not in rules(verdict(target(filesystem("overlay", "/", below=())), direct))
