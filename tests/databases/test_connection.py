"""How a server is reached, and that no password is among the words."""

from __future__ import annotations

import pytest

from fstui.databases import mysql, postgresql
from fstui.databases.connection import Connection
from fstui.databases.programs import Program
from fstui.databases.sql import said
from fstui.measure.kinds.sysbench import Sysbench


@pytest.mark.parametrize("driver", ["mysql", "pgsql"])
def test_a_password_is_in_the_environment_and_not_in_the_words(driver: str) -> None:
    connection = Connection(driver=driver, host="db7", user="app", password="s3cret", database="fstui_x")  # type: ignore[arg-type]
    assert not any("s3cret" in word for word in connection.words())
    assert list(connection.environment().values()) == ["s3cret"]


@pytest.mark.parametrize("password", ["two words", "#hash", '"quoted"', "a'b", "tab\t"])
def test_what_a_line_of_a_file_cannot_hold_goes_by_the_environment_alone(password: str) -> None:
    connection = Connection(driver="mysql", host="db7", user="app", password=password)
    assert connection.secrets() == "" and connection.environment() == {"MYSQL_PWD": password}


def test_a_port_is_the_kinds_own_unless_stated() -> None:
    assert "--mysql-port=3306" in Connection(driver="mysql", host="db7", user="app").words()
    assert "--pgsql-port=5433" in Connection(driver="pgsql", host="db7", port=5433, user="app").words()
    assert Connection(driver="pgsql", host="db7", user="app").where == "db7:5432"


def test_postgresql_takes_a_sockets_directory_as_its_host() -> None:
    words = Connection(driver="pgsql", socket="/run/pg", user="app").words()
    assert "--pgsql-host=/run/pg" in words and not any("port" in word for word in words)


def test_a_throwaway_mariadb_has_no_network_and_its_binary_log_on() -> None:
    program = Program("mariadb", "/usr/sbin/mariadbd", "MariaDB 10.11.19", (10, 11, 19))
    asked = Sysbench(server="mariadb", options={"sync_binlog": 1, "innodb_doublewrite": False})
    words = mysql.words(program, "/t/data", "/t/socket", asked)
    assert words[:2] == ["/usr/sbin/mariadbd", "--no-defaults"]  # it counts only as the first option
    assert {"--skip-networking", "--log-bin=binlog", "--sync-binlog=1", "--innodb-doublewrite=OFF"} <= set(words)
    assert "--innodb-buffer-pool-size=67108864" in words


def test_a_throwaway_postgresql_listens_on_its_socket_alone() -> None:
    program = Program("postgresql", "/usr/bin/true", "PostgreSQL 15", (15,))
    asked = Sysbench(server="postgresql", options={"full_page_writes": True})
    words = postgresql.words(program, "/t/data", "/t/.s.PGSQL.5432", asked)
    assert {"listen_addresses=", "unix_socket_directories=/t", "full_page_writes=on"} <= set(words)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FATAL: error 1045: Access denied for user 'x'", "1045: Access denied for user 'x'"),
        (
            "FATAL: PQexec() failed: 7 permission denied to create database\nFATAL: failed query was: CREATE x",
            "permission denied to create database",
        ),
        (
            'FATAL: Connection to database failed: connection to server on socket "/s" failed: '
            'FATAL:  role "x" does not exist',
            'role "x" does not exist',
        ),
        (
            'FATAL: Connection to database failed: connection to server at "db7", port 1 failed: Connection refused',
            'connection to server at "db7", port 1 failed: Connection refused',
        ),
    ],
)
def test_the_reason_in_sysbenchs_output_is_found(text: str, reason: str) -> None:
    assert said(f"{text}\nFATAL: `x' function failed: sql.lua:4: no\n") == reason


@pytest.mark.parametrize(
    ("basename", "places"), [("/logs/binlog", ["./", "/logs"]), ("", ["./", "."])], ids=["its own", "none"]
)
def test_the_logs_that_a_commit_waits_for_have_their_own_places(basename: str, places: list[str]) -> None:
    assert mysql.log_directories({"innodb_log_group_home_dir": "./", "log_bin_basename": basename}) == places
