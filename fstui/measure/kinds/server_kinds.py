"""The kinds of database servers: what differs between them in finding, reaching and judging one.

``fstui.databases.families`` starts and queries them. A new kind is an entry here and a module there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

ServerName = Literal["mariadb", "mysql", "postgresql"]
Driver = Literal["mysql", "pgsql"]
OFF = frozenset({"off", "0", "no", "false"})
_SBIN = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec", "/usr/local/mysql/bin")


class ReplicaPair(NamedTuple):
    """The room and time that ``replica-cut`` needs for two servers of a kind."""

    image_bytes: int
    """The filesystem of one server; what is not written takes no room."""
    held_bytes: int
    """What a server takes of it, besides its logs: MariaDB 10.11 23 MiB, MySQL 9.7 154 MiB (du)."""
    prepare_s: float
    """About what a step takes besides its measured time, on two processors."""


class ServerKind(NamedTuple):
    """One kind of server."""

    title: str
    package: str
    """The packages that hold the server, by distribution."""
    programs: tuple[str, ...]
    """Names of the server's program, its own name first."""
    places: tuple[str, ...]
    """Directories besides those of PATH, as patterns."""
    driver: Driver
    """sysbench's."""
    port: int
    durable: tuple[str, ...]
    """The variables that decide whether a commit is durable."""
    logs_bytes: int
    """The most that its logs keep in a throwaway server: a binary log is cut, a WAL is recycled at max_wal_size."""
    login: str = "login path"
    """What the setting ``login_path`` names."""
    version_arguments: tuple[str, ...] = ("--no-defaults", "--version")
    """A MySQL would read the option files of its user first, from a home directory that may hang."""
    keeps_old_rows: bool = False
    """An update leaves the old row for a later vacuum."""
    schemas_in_database: bool = False
    """One database holds several schemas; in MySQL a schema is a database."""
    log_off_by_default: bool = False
    """Its binary log, which a throwaway server has on."""
    pair: ReplicaPair | None = None
    """None: ``replica-cut`` does not support it."""
    doublewrite_in_data: bool = False
    """The doublewrite pages are in the file of the system tablespace."""

    def lossy(self, variables: Mapping[str, str]) -> list[str]:
        """Return the variables by which the server says that a commit may be lost.

        https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit,
        https://www.postgresql.org/docs/current/wal-async-commit.html
        """
        if self.driver == "pgsql":
            return [name for name in self.durable if variables.get(name, "").lower() in OFF]
        found = [] if variables.get(_AT_COMMIT, "1") == "1" else [_AT_COMMIT]
        logged = variables.get("log_bin", "off").lower() not in OFF
        found += ["sync_binlog"] if logged and variables.get("sync_binlog", "1") != "1" else []
        return found + (["innodb_flush_method"] if variables.get("innodb_flush_method", "").lower() == "nosync" else [])


_AT_COMMIT = "innodb_flush_log_at_trx_commit"
MARIADB = ServerKind(
    title="MariaDB",
    package="mariadb-server-core (Debian, Ubuntu) or mariadb-server",
    programs=("mariadbd", "mysqld"),
    places=(*_SBIN, "/opt/mariadb/bin"),
    driver="mysql",
    port=3306,
    durable=("sync_binlog", _AT_COMMIT),
    logs_bytes=256 << 20,
    pair=ReplicaPair(image_bytes=512 << 20, held_bytes=40 << 20, prepare_s=6.0),
    log_off_by_default=True,
    doublewrite_in_data=True,
)
MYSQL = ServerKind(
    title="MySQL",
    package="mysql-server-core-8.0 (Ubuntu), mysql-server-core (Debian unstable) or percona-server-server",
    programs=("mysqld",),
    places=(*_SBIN, "/opt/mysql/bin", "/opt/percona/bin"),
    driver="mysql",
    port=3306,
    durable=MARIADB.durable,
    logs_bytes=256 << 20,
    pair=ReplicaPair(image_bytes=1 << 30, held_bytes=180 << 20, prepare_s=16.0),
)
POSTGRESQL = ServerKind(
    title="PostgreSQL",
    package="postgresql (Debian, Ubuntu) or postgresql-server",
    programs=("postgres",),
    places=("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/libexec/postgresql*"),
    driver="pgsql",
    port=5432,
    durable=("fsync", "synchronous_commit"),
    logs_bytes=1280 << 20,
    login="service",
    version_arguments=("--version",),
    keeps_old_rows=True,
    schemas_in_database=True,
)
KINDS: dict[str, ServerKind] = {"mariadb": MARIADB, "mysql": MYSQL, "postgresql": POSTGRESQL}
