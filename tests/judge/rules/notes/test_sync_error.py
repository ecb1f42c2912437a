"""Syncs and writes that failed."""

from __future__ import annotations

import errno

import pytest

from fstui.model.steps import Failure, Step
from tests.factories.evidence import finding, rules, verdict
from tests.factories.steps import step


def failed(call: str, number: int, **settings: object) -> Step:
    error = Failure(call=call, errno=number, message=errno.errorcode[number])
    return step(status="failed", changes={"error": error}, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "msync"])
def test_an_io_error_on_a_sync_is_not_durable(call: str) -> None:
    judgement = verdict(None, failed(call, errno.EIO))
    found = finding(judgement, "sync-error")
    assert (found.verdict, found.confidence, found.scope) == ("not-durable", "high", "storage")
    assert judgement.verdict == "not-durable"
    assert f"{call} failed with EIO" in judgement.sentence
    assert "data gone" in judgement.sentence


def test_an_io_error_on_a_synced_write_is_one_too() -> None:
    synced = failed("pwrite", errno.EIO, sync="none", open_flags=("direct", "dsync"))
    assert verdict(None, synced).verdict == "not-durable"


def test_an_io_error_on_a_plain_write_is_an_honest_answer() -> None:
    found = finding(verdict(None, failed("pwrite", errno.EIO, sync="none")), "sync-error")
    assert (found.verdict, found.scope) == (None, "step")


@pytest.mark.parametrize("call", ["fsync", "fdatasync", "msync"])
def test_syncs_that_arrived_are_no_praise_where_another_was_refused(call: str) -> None:
    assert verdict(None, step()).verdict == "consistent"
    judgement = verdict(None, step(), failed(call, errno.EPERM, name="refused"))
    assert (judgement.verdict, judgement.confidence) == ("cannot-tell", "high")
    assert f"{call} failed with EPERM" in judgement.sentence


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_a_note(number: int) -> None:
    found = finding(verdict(None, failed("fdatasync", number)), "sync-error")
    assert found.verdict is None
    assert "no room left for writes that had been accepted: they are lost" in found.sentence
    assert "kept its word" in found.sentence
    written = finding(verdict(None, failed("pwrite", number)), "sync-error")
    assert written.verdict is None and "accepted" not in written.sentence


def test_another_call_is_not_its_business() -> None:
    assert rules(verdict(None, failed("open", errno.EINVAL))) == set()


@pytest.mark.parametrize("number", [errno.EIO, errno.EUCLEAN])
def test_a_filesystem_that_has_stopped_is_noted(number: int) -> None:
    """XFS shuts itself down, and fstui cannot even enter its directory."""
    judgement = verdict(None, step(), failed("chdir", number, name="next"))
    found = finding(judgement, "sync-error")
    assert (found.verdict, found.scope, judgement.verdict) == (None, "step", "consistent")
    assert f"chdir failed with {errno.errorcode[number]}: the filesystem has stopped" in found.sentence
    assert "dmesg" in found.next[0]


def test_an_io_error_that_a_database_tells_is_left_to_its_own_words() -> None:
    """SQLite has EIO for a lock or for memory as well."""
    assert rules(verdict(None, failed("commit", errno.EIO))) == set()


def test_a_short_write_is_no_error() -> None:
    short = Failure(call="pwrite", errno=None, message="only 4096 of 16384 bytes at once, and no error")
    found = finding(verdict(None, step(status="failed", changes={"error": short})), "sync-error")
    assert "pwrite took only a part after" in found.sentence
    assert "error" not in found.title
