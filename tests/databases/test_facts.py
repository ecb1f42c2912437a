"""The facts that a server reports about itself."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from fstui.databases import facts
from fstui.databases.connection import Connection
from fstui.databases.sql import DatabaseError
from fstui.measure.kinds.servers import Server

MARIADB = {"version": "10.11.19-MariaDB-0+deb12u1", "version_comment": "Debian 12"}
RENAMED = {"version": "8.0.99", "version_comment": "mariadb.org binary distribution"}
PERCONA = {"version": "8.0.36-28", "version_comment": "Percona Server (GPL)"}


def described(monkeypatch: pytest.MonkeyPatch, kind: str, variables: dict[str, str]) -> Server:
    async def answer(program: str, connection: Connection, statements: Sequence[str], within: Any) -> Any:
        return list(variables.items())

    monkeypatch.setattr(facts, "ask", answer)
    reached = Connection(driver="mysql", host="db7", user="app")
    return asyncio.run(facts.described("sysbench", kind, reached, None, where="existing", workspace="/"))


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
