"""A mount point is seldom an ordinary user's: the usual directories on the same mount are."""

from __future__ import annotations

import pytest

from fstui.runs.site import usual_directories

MOUNTS = ["/", "/home", "/tmp", "/srv/queue"]


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PWD", "/home/me/work")
    monkeypatch.setenv("HOME", "/home/me")


@pytest.mark.parametrize(
    ("mount_point", "expected"),
    [
        ("/", ["/var/tmp"]),
        ("/home", ["/home/me/work", "/home/me"]),
        ("/tmp", ["/tmp"]),
        ("/srv/queue", []),
    ],
)
def test_only_directories_on_that_mount_are_named(mount_point: str, expected: list[str]) -> None:
    assert usual_directories(mount_point, MOUNTS) == expected
