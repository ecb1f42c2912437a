"""``mount -o sync``."""

from __future__ import annotations

from msgspec.structs import replace

from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step
from tests.factories.storage import filesystem, on_disk


def test_a_mount_with_sync_makes_every_write_durable() -> None:
    mounted = on_disk(filesystem(sync_option="sync"))
    direct = step("O_DIRECT", sync="none", open_flags=("direct",), flushes=1)
    twice = step("fdatasync", flushes=2)
    judged = verdict(mounted, direct, twice)
    assert rules(judged) == {"mounted-sync", "flushes-arrive"}
    assert (judged.verdict, finding(judged, "mounted-sync").scope) == ("consistent", "storage")
    assert any("O_DIRECT: 2 000 flushes for 2 000 syncs" in line for line in finding(judged, "flushes-arrive").because)


def test_a_mount_with_sync_owes_a_flush_for_a_plain_write() -> None:
    plainly = step("write", sync="none", flushes=0)
    assert verdict(on_disk(filesystem(sync_option="sync")), plainly).verdict == "not-durable"
    assert verdict(on_disk(filesystem()), plainly).verdict == "cannot-tell"


def test_a_directory_under_chattr_does_the_same_to_its_files() -> None:
    judged = verdict(on_disk(filesystem(sync_flag="S")), step("fdatasync", flushes=2))
    assert judged.verdict == "consistent"
    found = finding(judged, "mounted-sync")
    assert (found.title, found.next) == (
        "under chattr +S: every write is synced", ("To see what the calls do by themselves: chattr -S /srv",)
    )  # fmt: skip


def test_the_mount_is_what_is_mounted_so_and_the_directory_what_is_flagged() -> None:
    told = (
        (filesystem(sync_option="sync"), "/srv is mounted"),
        (filesystem(sync_flag="S"), "/srv/data is under"),
    )
    for top, said in told:
        inside = replace(on_disk(top), path="/srv/data")
        assert finding(verdict(inside), "mounted-sync").sentence.startswith(said)


def test_zfs_looks_at_the_programs_own_flags_and_not_at_the_mounts() -> None:
    assert "mounted-sync" not in rules(verdict(on_disk(filesystem("zfs", sync_option="sync")), step()))


def test_a_mount_without_sync_owes_one_flush_only() -> None:
    twice = step("fdatasync", flushes=2)
    assert finding(verdict(on_disk(filesystem()), twice), "flushes-arrive").verdict == "cannot-tell"
