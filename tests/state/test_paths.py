import os
import pwd
from pathlib import Path

import pytest

from fstui.model.errors import Refused
from fstui.state import files, paths


@pytest.mark.parametrize(
    ("variables", "state", "config"),
    [
        ({"XDG_STATE_HOME": "/state", "XDG_CONFIG_HOME": "/config"}, "/state/fstui", "/config/fstui"),
        ({}, "/home/ann/.local/state/fstui", "/home/ann/.config/fstui"),
        ({"XDG_STATE_HOME": "relative"}, "/home/ann/.local/state/fstui", "/home/ann/.config/fstui"),
    ],
)
def test_directories_are_those_of_the_xdg_specification(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], state: str, config: str
) -> None:
    for name, value in {"HOME": "/home/ann", **variables}.items():
        monkeypatch.setenv(name, value)
    assert (paths.state_dir(), paths.config_dir()) == (Path(state), Path(config))
    assert (paths.runs_dir(), paths.ledger_dir()) == (Path(state, "runs"), Path(state, "ledger"))


@pytest.mark.parametrize("home", [None, "", "relative"])
def test_without_home_the_password_database_is_used(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert paths.state_dir() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/state/fstui"


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    with pytest.raises(Refused, match="Set HOME or XDG_STATE_HOME"):
        paths.state_dir()


def test_paths_create_nothing_and_directories_are_private() -> None:
    assert not paths.runs_dir().exists() and not paths.state_dir().exists()
    files.create_private_directory(paths.runs_dir())
    assert [path.stat().st_mode & 0o777 for path in (paths.runs_dir(), paths.state_dir())] == [0o700, 0o700]
