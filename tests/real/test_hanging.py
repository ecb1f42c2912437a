"""A hanging filesystem hangs no command of fstui. ``python -m tests.bench hang`` is the long form."""

from pathlib import Path

import pytest

from tests.real import hanging, headless

SILENT = "did not answer within"


@pytest.mark.parametrize(("call", "silent"), [("read", {"show", "run"}), ("fsync", {"run"})])
def test_commands_report_a_hanging_home(workshop: Path, call: str, silent: set[str]) -> None:
    with hanging.hanging_mount(workshop) as mount:
        for row in hanging.run_all(mount, "home", call, ("show", "run")):
            assert row.well and row.signals == 0, row
            assert row.status == (2 if row.command in silent else 0), row
            assert row.command not in silent or (SILENT in row.said and str(mount.point) in row.said), row
        assert hanging.leftovers_after_clean(mount) == []


def test_hanging_target_is_abandoned_and_nothing_is_left(workshop: Path) -> None:
    with hanging.hanging_mount(workshop) as mount:
        for row in hanging.run_all(mount, "target", "write", ("run", "run --output", "list")):
            assert row.well, row
            assert row.command != "list" or (row.status, row.signals) == (0, 0), row
        assert hanging.leftovers_after_clean(mount) == []


def test_hanging_other_mount_disturbs_no_command(workshop: Path) -> None:
    with hanging.hanging_mount(workshop) as mount:
        for row in hanging.run_all(mount, "another", "getattr", ("list", "history", "run")):
            assert row.well and (row.status, row.signals) == (0, 0), row
        assert hanging.leftovers_after_clean(mount) == []


@pytest.mark.parametrize(("place", "call"), [("home", "fsync"), ("target", "unlink")])
def test_run_can_be_stopped_when_storage_starts_to_hang(workshop: Path, place: str, call: str) -> None:
    with hanging.hanging_mount(workshop) as mount:
        row = hanging.stop_midway(mount, place, call)
        assert (row.status, row.signals) == (143, 1), row
        assert "Traceback" not in row.said and ("did not answer" in row.said or "does not answer" in row.said), row
        assert hanging.leftovers_after_clean(mount) == []


def test_every_command_reports_a_silent_home_and_ends(workshop: Path) -> None:
    target = workshop / "target"
    target.mkdir()
    with hanging.unresponsive_mount(workshop) as (home, within):
        words = (*within, "env", "-u", "XDG_STATE_HOME", "-u", "XDG_CONFIG_HOME", f"HOME={home}")
        for command in (["history"], ["show", "last"], ["clean"], ["run", "fsync-rate", str(target)]):
            done = headless.call(*command, within=words)
            assert (done.returncode, done.stdout) == (2, b""), command
            assert SILENT in done.stderr.decode(), command
        listed = headless.call("scenarios", within=words)
        assert listed.returncode == 0 and b"fsync-rate" in listed.stdout and SILENT in listed.stderr.decode()
    assert list(target.iterdir()) == []
