"""The connection to each kind of server: sysbench's options, the user's own files, and no password among the words."""

import os
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from fstui.databases import existing
from fstui.databases.connections import Connection, DatabaseError, Tls
from fstui.databases.existing import find_connection, with_current_password
from fstui.databases.mysql import MySQL
from fstui.databases.postgresql import PostgreSQL
from fstui.databases.programs import ServerProgram
from fstui.databases.sql import FAMILIES, address, environment, family_of, query
from fstui.measure.kinds.servers import KINDS, ServerName, kind_of_version
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.errors import Refused
from fstui.state import ledger, paths
from fstui.state.workspace import HeldDirectory

SERVICES = """
# a comment
[app]
host=db7
port=6432
user=app
password=p#w=1
sslmode=verify-full
sslcert=/k/app.crt
"""
OPTION_FILE = """
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


def options(connection: Connection) -> list[str]:
    return family_of(connection).sysbench_options(connection)


def test_every_kind_of_server_has_a_family() -> None:
    assert set(get_args(ServerName)) == KINDS.keys()
    for name, kind in KINDS.items():
        family = FAMILIES[kind.driver]
        assert family.connection("/run/socket").driver == kind.driver
        assert set(kind.durability_variables) <= set(family.variables)
        assert kind_of_version(kind.driver, kind.version_word) == name


@pytest.mark.parametrize("driver", ["mysql", "pgsql"])
def test_password_is_in_the_environment_and_not_in_the_options(driver: str) -> None:
    connection = Connection(driver=driver, host="db7", user="app", password="s3cret", database="fstui_x")  # type: ignore[arg-type]
    assert not any("s3cret" in word for word in options(connection))
    assert list(environment(connection).values()) == ["s3cret"]


@pytest.mark.parametrize("password", ["two words", "#hash", '"quoted"', "a'b", "tab\t"])
def test_password_with_special_characters_is_not_in_a_file(password: str) -> None:
    connection = Connection(driver="mysql", host="db7", user="app", password=password)
    assert family_of(connection).secrets(connection) == "" and environment(connection) == {"MYSQL_PWD": password}


def test_default_port_is_that_of_the_family() -> None:
    assert "--mysql-port=3306" in options(Connection(driver="mysql", host="db7", user="app"))
    assert "--pgsql-port=5433" in options(Connection(driver="pgsql", host="db7", port=5433, user="app"))
    assert address(Connection(driver="pgsql", host="db7", user="app")) == "db7:5432"


def test_postgresql_takes_a_sockets_directory_as_its_host() -> None:
    words = options(Connection(driver="pgsql", socket="/run/pg", user="app"))
    assert "--pgsql-host=/run/pg" in words and not any("port" in word for word in words)


def test_throwaway_mariadb_has_no_network_and_its_binary_log_on() -> None:
    program = ServerProgram("mariadb", "/usr/sbin/mariadbd", "MariaDB 10.11.19", (10, 11, 19))
    settings = Sysbench(server="mariadb", options={"sync_binlog": 1, "innodb_doublewrite": False})
    words = MySQL().command_line(program, "/t/data", "/t/socket", settings)
    assert words[:2] == ["/usr/sbin/mariadbd", "--no-defaults"]  # it is only valid as the first option
    assert {"--skip-networking", "--log-bin=binlog", "--sync-binlog=1", "--innodb-doublewrite=OFF"} <= set(words)
    assert "--innodb-buffer-pool-size=67108864" in words


def test_throwaway_postgresql_listens_only_on_its_socket() -> None:
    program = ServerProgram("postgresql", "/usr/bin/true", "PostgreSQL 15", (15,))
    settings = Sysbench(server="postgresql", options={"full_page_writes": True})
    words = PostgreSQL().command_line(program, "/t/data", "/t/.s.PGSQL.5432", settings)
    assert {"listen_addresses=", "unix_socket_directories=/t", "full_page_writes=on"} <= set(words)


@pytest.mark.parametrize(
    ("basename", "places"), [("/logs/binlog", ["./", "/logs"]), ("", ["./", "."])], ids=["its own", "none"]
)
def test_logs_that_a_commit_waits_for_have_their_own_directories(basename: str, places: list[str]) -> None:
    assert MySQL().log_directories({"innodb_log_group_home_dir": "./", "log_bin_basename": basename}) == places


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with an option file of MySQL's."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / ".my.cnf").write_text(OPTION_FILE)
    return tmp_path


def mysql(**settings: object) -> Connection:
    return find_connection(Sysbench(server="mysql", **settings))  # type: ignore[arg-type]


def test_option_file_supplies_what_is_not_set(home: Path) -> None:
    found = mysql(login_path="client")
    assert (found.host, found.port, found.user, found.password) == ("db7", 3307, "app", "s3cret#")
    assert found.tls == Tls(ca="/etc/ca.pem", certificate="/etc/me.pem", key="/etc/me.key")
    assert "--mysql-ssl=on" in options(found) and not any("s3cret" in word for word in options(found))


def test_settings_override_the_option_file(home: Path) -> None:
    found = mysql(host="db9", user="me")
    assert (found.host, found.port, found.user, found.password) == ("db9", 3307, "me", "s3cret#")
    assert address(mysql(socket="/run/s")) == "socket /run/s"


def test_another_group_adds_to_the_client_group(home: Path) -> None:
    found = mysql(login_path="near")
    assert (found.socket, found.host, found.user) == ("/run/near.sock", "", "root")


def test_login_path_is_decrypted_by_mysqls_own_tool(home: Path) -> None:
    tool = home / "bin/my_print_defaults"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\n[ "$2" = --login-path=prod ] && echo --host=db8 && echo --password=\'"a b"\'\n')
    tool.chmod(0o755)
    assert MySQL().options_of("prod")["host"] == "db8" and MySQL().options_of("prod")["password"] == "a b"
    assert mysql(login_path="prod").user == "app"


def test_unknown_login_path_is_refused(home: Path) -> None:
    with pytest.raises(Refused, match="login_path 'nowhere' is neither a group"):
        mysql(login_path="nowhere")


def test_tls_needs_all_three_files(home: Path) -> None:
    (home / ".my.cnf").write_text("[client]\nssl-ca=/etc/ca.pem\n")
    assert mysql(host="db7").tls is None


async def test_links_to_tls_files_are_in_the_ledger(tmp_path: Path) -> None:
    sysbench, seen = tmp_path / "sysbench", tmp_path / "seen"
    sysbench.write_text(f"#!/bin/sh\n(pwd -P; ls; cat {paths.ledger_dir()}/*) >{seen}\n")
    sysbench.chmod(0o700)
    tls = Tls(ca="/etc/ca.pem", certificate="/etc/me.pem", key="/etc/me.key")
    connection = Connection(driver="mysql", host="db7", user="app", database="fstui", tls=tls)
    await query(str(sysbench), connection, ["SELECT 1"])
    directory, *names, entry = seen.read_text().splitlines()
    assert names[:3] == ["cacert.pem", "client-cert.pem", "client-key.pem"]
    assert msgspec.json.decode(entry)["what"] == directory
    assert not Path(directory).exists()
    assert ledger.entries() == []


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """PostgreSQL's connection service file."""
    file = tmp_path / "services"
    file.write_text(SERVICES)
    monkeypatch.setenv("PGSERVICEFILE", str(file))
    monkeypatch.setenv("PGSYSCONFDIR", str(tmp_path / "none"))
    return file


def postgresql(**settings: object) -> Sysbench:
    return msgspec.convert({"server": "postgresql", "login_path": "app", **settings}, Sysbench)


def test_service_supplies_what_is_not_set(services: Path) -> None:
    found = find_connection(postgresql())
    assert (address(found), found.user, found.password) == ("db7:6432", "app", "p#w=1")
    assert environment(found) == {"PGSSLMODE": "verify-full", "PGSSLCERT": "/k/app.crt", "PGPASSWORD": "p#w=1"}
    assert postgresql().existing_server == "postgresql at service app"


def test_settings_override_the_service(services: Path) -> None:
    found = find_connection(postgresql(host="db8", user="me"))
    assert (found.host, found.user) == ("db8", "me")


def test_host_that_is_a_directory_contains_the_socket(services: Path) -> None:
    services.write_text("[app]\nhost=/run/postgresql\n")
    found = find_connection(postgresql())
    assert (found.socket, found.host) == ("/run/postgresql", "")
    assert find_connection(postgresql(login_path="", host="/run/other")).socket == "/run/other"


async def test_current_password_is_read_again(services: Path) -> None:
    kept = msgspec.structs.replace(find_connection(postgresql()), password="")
    assert (await with_current_password(kept)).password == "p#w=1"


async def test_waiting_for_a_file_that_hangs_is_bounded(services: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing, "_READ_TIMEOUT_S", 0.5)
    kept = find_connection(postgresql())
    services.unlink()
    os.mkfifo(services)
    with pytest.raises(Refused, match="did not answer within"):
        await with_current_password(kept)
    with pytest.raises(Refused, match="did not answer within"):
        await existing.ExistingServer.open("sysbench", postgresql(), workspace="/nowhere", run_id="k3f9a1")


def test_unknown_service_is_refused(services: Path) -> None:
    with pytest.raises(Refused, match=f"there is no service 'other' in {services}"):
        find_connection(postgresql(login_path="other"))


@pytest.mark.parametrize("is_link", [False, True], ids=["directory", "link"])
async def test_sysbench_does_not_run_in_a_replaced_directory(tmp_path: Path, is_link: bool) -> None:
    own, other, sysbench = tmp_path / "own", tmp_path / "other", tmp_path / "sysbench"
    own.mkdir()
    other.mkdir()
    sysbench.write_text("#!/bin/sh\ntouch started\n")
    sysbench.chmod(0o755)
    status, connection = own.stat(), Connection(driver="mysql", host="db7", user="app")
    held = HeldDirectory(str(own), status.st_dev, status.st_ino)
    assert await query(str(sysbench), connection, ["SELECT 1"], held) == []
    (own / "started").unlink()
    own.rename(tmp_path / "away")
    own.symlink_to(other) if is_link else other.rename(own)
    with pytest.raises(DatabaseError, match="another directory has taken its place"):
        await query(str(sysbench), connection, ["SELECT 1"], held)
    assert not list(tmp_path.rglob("started"))
