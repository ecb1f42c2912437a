"""The supported database servers, and the settings that make their commits durable.

To add a server, see *Adding something* in contributing.md. ``fstui.databases`` has one module per driver of sysbench.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, NamedTuple

from fstui.measure.kinds import StepSettings
from fstui.model.base import Base
from fstui.model.settings import OpenFlag

ServerName = Literal["mariadb", "mysql", "postgresql"]
Driver = Literal["mysql", "pgsql"]
OFF_VALUES = frozenset({"off", "0", "no", "false"})
_SBIN = ("/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/libexec", "/usr/local/mysql/bin")


class Risk(NamedTuple):
    """A variable of a server, and the values of it with which an acknowledged commit may be lost."""

    variable: str
    lossy: frozenset[str] = frozenset()
    safe: frozenset[str] = frozenset()
    """If given, all values except these are lossy."""
    only_with: str = ""
    """The risk exists only if this variable is on."""

    def is_present(self, variables: Mapping[str, str]) -> bool:
        """Return whether the variable has a lossy value; False if it is not in ``variables``."""
        if self.variable not in variables:
            return False
        if self.only_with and variables.get(self.only_with, "off").lower() in OFF_VALUES:
            return False
        value = variables[self.variable].lower()
        return value not in self.safe if self.safe else value in self.lossy


class ReplicaPair(NamedTuple):
    """The space and time that ``replica-cut`` needs for two servers of a kind."""

    image_bytes: int
    """Size of the sparse file that contains the filesystem of one server."""
    used_bytes: int
    """Disk space that one server uses in the file, without logs: 23 MiB for MariaDB 10.11, 154 MiB for MySQL 9.7."""
    prepare_s: float
    """Approximate time that a step needs in addition to its measured time, on two processors."""


class ServerKind(NamedTuple):
    title: str
    package: str
    """The packages that contain the server, by distribution."""
    programs: tuple[str, ...]
    """Names of the server's program, the most specific one first."""
    directories: tuple[str, ...]
    """Directories to search besides PATH, as glob patterns."""
    driver: Driver
    durability_variables: tuple[str, ...]
    """The variables that decide whether a commit is durable."""
    method_variables: tuple[str, ...]
    """The variables that decide how a commit becomes durable: sync calls, open flags, protection from torn pages."""
    risks: tuple[Risk, ...]
    max_log_bytes: int
    """Maximum size of the logs of a throwaway server, which purges the binary log or recycles the WAL."""
    version_arguments: tuple[str, ...] = ("--no-defaults", "--version")
    """Without --no-defaults, MySQL would first read option files in the home directory, which may hang."""
    version_word: str = ""
    """A word in the version text that distinguishes this kind from other servers with the same driver."""
    login_term: str = "login path"
    """What the server's documentation calls saved options for a connection."""
    keeps_old_rows: bool = False
    """An update keeps the old row until a vacuum."""
    schemas_in_database: bool = False
    """A database can contain several schemas. In MySQL, schema and database mean the same."""
    log_off_by_default: bool = False
    """The binary log is off by default. In a throwaway server, fstui turns it on."""
    pair: ReplicaPair | None = None
    """None: ``replica-cut`` does not support this kind."""
    doublewrite_in_data_file: bool = False
    """The doublewrite pages are in the file of the system tablespace."""

    def lossy_variables(self, variables: Mapping[str, str]) -> list[str]:
        return [risk.variable for risk in self.risks if risk.is_present(variables)]


_ONLY_1 = frozenset({"1"})
_INNODB = (
    Risk("innodb_flush_log_at_trx_commit", safe=_ONLY_1),
    Risk("sync_binlog", safe=_ONLY_1, only_with="log_bin"),
    Risk("innodb_flush_method", lossy=frozenset({"nosync"})),
)
"""https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit"""
MARIADB = ServerKind(
    title="MariaDB",
    package="mariadb-server-core on Debian and Ubuntu, or mariadb-server",
    programs=("mariadbd", "mysqld"),
    directories=(*_SBIN, "/opt/mariadb/bin"),
    driver="mysql",
    durability_variables=("sync_binlog", "innodb_flush_log_at_trx_commit"),
    method_variables=("innodb_flush_method", "innodb_doublewrite"),
    risks=_INNODB,
    max_log_bytes=256 << 20,
    version_word="MariaDB",
    pair=ReplicaPair(image_bytes=512 << 20, used_bytes=40 << 20, prepare_s=6.0),
    log_off_by_default=True,
    doublewrite_in_data_file=True,
)
MYSQL = ServerKind(
    title="MySQL",
    package="mysql-server-core-8.0 on Ubuntu, mysql-server-core on Debian unstable, or percona-server-server",
    programs=("mysqld",),
    directories=(*_SBIN, "/opt/mysql/bin", "/opt/percona/bin"),
    driver="mysql",
    durability_variables=MARIADB.durability_variables,
    method_variables=MARIADB.method_variables,
    risks=_INNODB,
    max_log_bytes=256 << 20,
    pair=ReplicaPair(image_bytes=1 << 30, used_bytes=180 << 20, prepare_s=16.0),
)
POSTGRESQL = ServerKind(
    title="PostgreSQL",
    package="postgresql on Debian and Ubuntu, or postgresql-server",
    programs=("postgres",),
    directories=("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin", "/usr/libexec/postgresql*"),
    driver="pgsql",
    durability_variables=("fsync", "synchronous_commit"),
    method_variables=("wal_sync_method", "full_page_writes"),
    # https://www.postgresql.org/docs/current/wal-async-commit.html
    risks=(Risk("fsync", lossy=OFF_VALUES), Risk("synchronous_commit", lossy=OFF_VALUES)),
    max_log_bytes=1280 << 20,
    version_arguments=("--version",),
    login_term="service",
    keeps_old_rows=True,
    schemas_in_database=True,
)
KINDS: dict[str, ServerKind] = {"mariadb": MARIADB, "mysql": MYSQL, "postgresql": POSTGRESQL}
COMMANDS = {
    **{program: name for name, kind in KINDS.items() for program in kind.programs},
    "mongod": "mongodb",
    "redis-server": "redis",
    "valkey-server": "valkey",
    "etcd": "etcd",
    "beam.smp": "rabbitmq",
    "oracle": "oracle",
    "sqlservr": "sqlserver",
    "db2sysc": "db2",
    "clickhouse-serv": "clickhouse",
    "ceph-osd": "ceph",
}
"""The programs that store and sync data for other programs: command name → kind. /proc/PID/comm shows at most 15
characters of a command name."""
DURABLE_OPTIONS = frozenset(name for kind in KINDS.values() for name in kind.durability_variables)
"""Options that decide whether a commit is durable, and nothing else."""
COMMIT_OPTIONS = DURABLE_OPTIONS | {name for kind in KINDS.values() for name in kind.method_variables} | {"log_bin"}
"""Options that decide whether and how a commit becomes durable."""
_SYNCED_BY_FLAG = frozenset({"o_dsync", "open_datasync", "open_sync"})


def option_text(value: object) -> str:
    """Return the value of an option as the servers write it: a bool is ``on`` or ``off``."""
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def kind_of_version(driver: Driver, version: str) -> str:
    kinds = {name: kind for name, kind in KINDS.items() if kind.driver == driver}
    for name, kind in kinds.items():
        if kind.version_word and kind.version_word.lower() in version.lower():
            return name
    return next(name for name, kind in kinds.items() if not kind.version_word)


class ServerSettings(StepSettings, frozen=True, kw_only=True):
    operation_name: ClassVar[str | None] = "transactions"
    program: ClassVar[str | None] = "sysbench"
    needs_server: ClassVar[bool] = True
    reports_own_figures: ClassVar[bool] = True


class Server(Base, frozen=True, kw_only=True):
    """A database server during a step: kind, location, and the variables that decide its durability."""

    kind: str = ""
    title: str = ""
    """``MariaDB 10.11.19``."""
    where: str = ""
    """``throwaway``: fstui started it for the run; ``existing``: it was already running."""
    reached: str = ""
    """``socket /run/mysqld/mysqld.sock`` or ``db7:3306``."""
    data_directory: str | None = None
    on_target: bool = True
    """Its data is on the measured filesystem, so the devices below that filesystem count its I/O."""
    located: bool = True
    """False: its process was not found on this host, so the place of its data is unknown."""
    variables: dict[str, str] = {}
    preloads: tuple[str, ...] = ()
    """Libraries that stub syncs, in the memory map of its process."""

    @property
    def _kind(self) -> ServerKind:
        # old documents have no kind, and only servers of MySQL's family
        return KINDS.get(self.kind, MYSQL)

    @property
    def doublewrite_in_data_file(self) -> bool:
        return self._kind.doublewrite_in_data_file

    @property
    def existing(self) -> bool:
        return self.where == "existing"

    @property
    def binary_log_turned_on(self) -> bool:
        """Whether fstui turned on the binary log, which a throwaway server of this kind does not have by default.
        Without the binary log, sync_binlog would have no effect."""
        return self._kind.log_off_by_default and self.where == "throwaway"

    @property
    def logs_for_replicas(self) -> bool:
        """Whether replicas may repeat what the step does: true for an existing server with a binary log."""
        return self.existing and self.variables.get("log_bin", "off").lower() not in OFF_VALUES

    @property
    def durability(self) -> tuple[str, ...]:
        """The settings that decide whether commits are durable: ``name = value``."""
        return self._assignments(self._kind.durability_variables)

    @property
    def commit_settings(self) -> tuple[str, ...]:
        return self._assignments((*self._kind.durability_variables, *self._kind.method_variables))

    def _assignments(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(f"{name} = {self.variables[name]}" for name in names if name in self.variables)

    @property
    def introduction(self) -> tuple[str, ...]:
        """Phrases about the server: version, settings of commits, place of the data, and binary log."""
        place = f"its data is stored in {self.data_directory}"
        if not self.data_directory:
            place = "it does not report where its data is stored"
        if not self.located:
            place = "its process was not found on this host, so the filesystem of its data is not known"
        elif not self.on_target:
            place += ", which is not on the filesystem of this directory"
        return (
            self.title,
            ", ".join(self.commit_settings),
            place,
            *(["it keeps a binary log"] if self.logs_for_replicas else []),
        )

    @property
    def lossy(self) -> tuple[str, ...]:
        return self._assignments(self._kind.lossy_variables(self.variables))

    @property
    def log_flags(self) -> tuple[OpenFlag, ...]:
        """The open flags of the log for which a commit waits (binary log or WAL). Empty if sync calls sync the log."""
        variables = self.variables
        has_binary_log = variables.get("log_bin", "off").lower() == "on"
        # if there is a binary log, a commit waits for it, and innodb_flush_method does not apply to it
        innodb_method = "" if has_binary_log else variables.get("innodb_flush_method", "")
        if (variables.get("wal_sync_method") or innodb_method).lower() not in _SYNCED_BY_FLAG:
            return ()
        unbuffered = variables.get("innodb_log_file_buffering", "on").lower() == "off"
        return ("direct", "dsync") if unbuffered else ("dsync",)

    @property
    def dsync_files(self) -> frozenset[str]:
        """The files (names as in FileIO.file) that are opened with O_DSYNC or O_SYNC, so that each write is a sync."""
        values = {name: value.lower() for name, value in self.variables.items()}
        writes_through = values.get("innodb_log_file_write_through", "off") == "on"
        files = {"redo log"} if writes_through or values.get("innodb_flush_method") == "o_dsync" else set()
        if values.get("wal_sync_method") in _SYNCED_BY_FLAG:
            files.add("WAL")
        return frozenset(files)
