"""PostgreSQL's connection service file."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from fstui.databases import existing
from fstui.databases.existing import connection_to, known_again
from fstui.databases.sql import DatabaseError
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused

FILE = """
# ours
[app]
host=db7
port=6432
user=app
password=p#w=1
sslmode=verify-full
sslcert=/k/app.crt
"""


@pytest.fixture(autouse=True)
def service_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "services"
    file.write_text(FILE)
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path / "none"))
    return file


def asked(**settings: object) -> Sysbench:
    return msgspec.convert({"server": "postgresql", "login_path": "app", **settings}, Sysbench)


def test_all_that_is_not_set_comes_from_the_service() -> None:
    found = connection_to(asked())
    assert (found.where, found.user, found.password) == ("db7:6432", "app", "p#w=1")
    assert found.environment() == {"PGSSLMODE": "verify-full", "PGSSLCERT": "/k/app.crt", "PGPASSWORD": "p#w=1"}
    assert asked().existing_server == "postgresql at service app"


def test_what_is_set_goes_before_it() -> None:
    found = connection_to(asked(host="db8", user="me"))
    assert (found.host, found.user) == ("db8", "me")


def test_a_host_that_is_a_directory_is_where_the_socket_is(service_file: Path) -> None:
    service_file.write_text("[app]\nhost=/run/postgresql\n")
    found = connection_to(asked())
    assert (found.socket, found.host) == ("/run/postgresql", "")
    assert connection_to(asked(login_path="", host="/run/other")).socket == "/run/other"


async def test_the_password_of_now_is_found_again() -> None:
    kept = msgspec.structs.replace(connection_to(asked()), password="")
    assert (await known_again(kept)).password == "p#w=1"


async def test_a_file_that_gives_no_answer_is_waited_for_in_a_child_and_not_for_ever(
    service_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(existing, "_FILES_S", 0.5)
    kept = connection_to(asked())
    service_file.unlink()
    os.mkfifo(service_file)
    with pytest.raises(DatabaseError, match="did not answer within"):
        await known_again(kept)
    with pytest.raises(DatabaseError, match="did not answer within"):
        await existing.Existing.open("sysbench", asked(), workspace="/nowhere", run_id="k3f9a1")


def test_a_service_that_is_nowhere_is_refused(service_file: Path) -> None:
    with pytest.raises(Refused, match=f"'other' is no service of {service_file}"):
        connection_to(asked(login_path="other"))
