import os
import pwd
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.state import files, paths


def test_the_xdg_variables_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    assert (paths.state_dir(), paths.config_dir()) == (Path("/state/fstui"), Path("/config/fstui"))
    assert paths.runs_dir() == Path("/state/fstui/runs")
    assert paths.ledger_dir() == Path("/state/fstui/ledger")


def test_without_xdg_variables_the_default_is_below_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert paths.state_dir() == Path("/home/ann/.local/state/fstui")
    assert paths.config_dir() == Path("/home/ann/.config/fstui")


def test_a_relative_xdg_variable_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("HOME", "/home/ann")
    assert paths.state_dir() == Path("/home/ann/.local/state/fstui")


def test_without_home_the_password_database_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert paths.state_dir() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/state/fstui"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(Refused, match="Set HOME or XDG_STATE_HOME"):
        paths.state_dir()


def test_paths_create_nothing_and_directories_are_private() -> None:
    assert not paths.runs_dir().exists() and not paths.state_dir().exists()
    files.make_private(paths.runs_dir())
    assert [path.stat().st_mode & 0o777 for path in (paths.runs_dir(), paths.state_dir())] == [0o700, 0o700]
