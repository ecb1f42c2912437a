"""The facts that a server reports, and its options that are in force."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fstui.databases import facts
from fstui.databases.connections import Connection, DatabaseError
from fstui.databases.facts import ignored_options
from fstui.measure.kinds.servers import Server

MARIADB = {"version": "10.11.19-MariaDB-0+deb12u1", "version_comment": "Debian 12"}
RENAMED = {"version": "8.0.99", "version_comment": "mariadb.org binary distribution"}
PERCONA = {"version": "8.0.36-28", "version_comment": "Percona Server (GPL)"}


def described(monkeypatch: pytest.MonkeyPatch, kind: str, variables: dict[str, str]) -> Server:
    async def answer(program: str, connection: Connection, statements: Sequence[str], directory: Any) -> Any:
        return list(variables.items())

    monkeypatch.setattr(facts, "query", answer)
    reached = Connection(driver="mysql", host="db7", user="app")
    return asyncio.run(facts.read_facts("sysbench", kind, reached, None, workspace="/"))


@pytest.mark.parametrize(
    ("kind", "variables", "sentence"),
    [
        ("mysql", MARIADB, "the server is MariaDB, not MySQL: use --set server=mariadb"),
        ("mysql", RENAMED, "the server is MariaDB, not MySQL: use --set server=mariadb"),
        ("mariadb", PERCONA, "the server is MySQL, not MariaDB: use --set server=mysql"),
    ],
)
def test_server_of_another_kind_is_refused(
    monkeypatch: pytest.MonkeyPatch, kind: str, variables: dict[str, str], sentence: str
) -> None:
    with pytest.raises(DatabaseError, match=sentence):
        described(monkeypatch, kind, variables)


def test_place_of_data_without_a_process_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    server = described(monkeypatch, "mariadb", MARIADB)
    assert (server.title, server.on_target, server.located) == ("MariaDB 10.11.19", False, False)
    assert "the filesystem of its data is not known" in " ".join(server.introduction)


@pytest.mark.parametrize(
    ("requested", "current"),
    [
        (True, "ON"),
        (0, "OFF"),
        ("O_DIRECT", "o_direct"),
        ("64M", "67108864"),
        ("64MB", "65536kB"),
        ("5min", "300s"),
        (8192, "64MB"),
        (-1, "4MB"),
        (0.5, "0.500000"),
    ],
)
def test_equal_values_in_different_notation_do_not_differ(requested: object, current: str) -> None:
    assert list(ignored_options({"name": requested}, {"name": current})) == []


@pytest.mark.parametrize(("requested", "current"), [(False, "ON"), (9, "3"), ("O_DSYNC", "fsync"), ("64M", "67108865")])
def test_difference_names_both_values(requested: object, current: str) -> None:
    expected = [f"name = {requested} was requested, {current} is in force"]
    assert list(ignored_options({"name": requested}, {"name": current})) == expected


def test_unknown_variable_is_not_compared() -> None:
    assert list(ignored_options({"loose_option": 1}, {"version": "15"})) == []


def test_a_process_that_forwards_a_socket_is_no_server(tmp_path: Path) -> None:
    forwarded = tmp_path / "db.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(forwarded))
        listener.listen()
        assert facts.server_pid(Connection(driver="mysql", socket=str(forwarded), user="app")) is None
