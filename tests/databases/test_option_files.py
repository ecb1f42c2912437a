"""What the user's own files say of a MySQL, and what of it is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from fstui.databases.connection import Connection, Tls
from fstui.databases.existing import connection_to
from fstui.databases.option_files import options
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

MINE = """
[client]
user=app
password = "s3cret#"
host=db7
port=3307
ssl-ca=/etc/ca.pem
ssl_cert=/etc/me.pem
ssl-key=/etc/me.key
!includedir /etc/mysql/conf.d/
[near]
socket=/run/near.sock
user=root
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / ".my.cnf").write_text(MINE)
    return tmp_path


def reached(**settings: object) -> Connection:
    return connection_to(Sysbench(server="mysql", **settings))  # type: ignore[arg-type]


def test_all_that_is_not_set_comes_from_the_option_file(home: Path) -> None:
    found = reached(login_path="client")
    assert (found.host, found.port, found.user, found.password) == ("db7", 3307, "app", "s3cret#")
    assert found.tls == Tls(ca="/etc/ca.pem", certificate="/etc/me.pem", key="/etc/me.key")
    assert "--mysql-ssl=on" in found.words() and not any("s3cret" in word for word in found.words())


def test_what_is_set_goes_before_it(home: Path) -> None:
    found = reached(host="db9", user="me")
    assert (found.host, found.port, found.user, found.password) == ("db9", 3307, "me", "s3cret#")
    assert reached(socket="/run/s").where == "socket /run/s"


def test_another_group_adds_to_it(home: Path) -> None:
    found = reached(login_path="near")
    assert (found.socket, found.host, found.user) == ("/run/near.sock", "", "root")


def test_a_login_path_is_asked_of_mysqls_own_tool(home: Path) -> None:
    tool = home / "bin/my_print_defaults"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\n[ "$2" = --login-path=prod ] && echo --host=db8 && echo --password=\'"a b"\'\n')
    tool.chmod(0o755)
    assert options("prod")["host"] == "db8" and options("prod")["password"] == "a b"
    assert reached(login_path="prod").user == "app"


def test_a_login_path_that_is_nowhere_is_refused(home: Path) -> None:
    with pytest.raises(Refused, match="login_path 'nowhere' is no group"):
        reached(login_path="nowhere")


def test_without_all_three_files_there_is_no_tls(home: Path) -> None:
    (home / ".my.cnf").write_text("[client]\nssl-ca=/etc/ca.pem\n")
    assert reached(host="db7").tls is None
