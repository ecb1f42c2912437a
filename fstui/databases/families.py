"""What differs between the two protocols that sysbench speaks: MySQL's and PostgreSQL's.

A client library would be a second way to a server that sysbench has to reach anyway: see ``fstui.databases.sql``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import msgspec

from fstui.databases.programs import ServerProgram
from fstui.measure.kinds.servers import Driver
from fstui.measure.kinds.sysbench import Sysbench
from fstui.model.base import Base


class DatabaseError(Exception):
    """The error that a server, or the connection to it, reported."""


class Tls(Base, frozen=True, kw_only=True):
    """Paths of PEM files: the certificate authority, and the client's certificate and key."""

    ca: str
    certificate: str
    key: str


class Connection(Base, frozen=True, kw_only=True):
    """A server and a database on it. The ledger stores it without its password."""

    driver: Driver
    socket: str = ""
    """A unix socket; for PostgreSQL, the directory that contains it."""
    host: str = ""
    port: int = 0
    user: str
    password: str = ""
    database: str = ""
    login_path: str = ""
    """The login path or service from which the password was read."""
    tls: Tls | None = None
    libpq: dict[str, str] = msgspec.field(default_factory=dict)
    """Further environment variables for libpq, such as PGSSLMODE."""


class Family(ABC):
    """Servers that speak one protocol: how they are made, started, reached and queried."""

    users: ClassVar[tuple[str, ...]]
    """The users that a throwaway server may run as, the preferred one first."""
    end_signal: ClassVar[str]
    """The signal after which a throwaway server ends; its data is not needed any more."""
    restart_signal: ClassVar[str]
    """The signal after which it ends and keeps all that was committed."""
    port: ClassVar[int]
    socket: ClassVar[str]
    """Name of the unix socket among a throwaway server's data."""
    ready: ClassVar[tuple[str, str] | None] = None
    """A file among its data, and the word with which its last line starts when the server is ready. None: the server is
    ready when its socket takes connections."""
    create_statements: ClassVar[tuple[str, ...]] = ()
    """The statements that create the database that a throwaway server's clients use."""
    maintenance: ClassVar[str]
    """A database that every server has."""
    database_names: ClassVar[str]
    """The query for the names of all databases."""
    quote: ClassVar[str]
    """The character around an identifier."""
    password_variable: ClassVar[str]
    """The environment variable from which the client library reads the password."""
    variables: ClassVar[tuple[str, ...]]
    """The server's variables that decide how and where a commit becomes durable."""
    socket_name_has_port: ClassVar[bool] = False
    """The name of the socket contains the port, and a host that starts with / is the socket's directory."""

    @abstractmethod
    def command_line(self, program: ServerProgram, data: str, socket: str, settings: Sysbench) -> list[str]:
        """Return the command line of a throwaway server."""

    @abstractmethod
    def preparation(self, program: ServerProgram, data: str) -> list[dict[str, Any]]:
        """Return the commands that make a server's data in an empty directory. Raises Refused."""

    @abstractmethod
    def connection(self, socket: str) -> Connection:
        """Return the connection of a throwaway server's administrator to the run's database."""

    @abstractmethod
    def questions(self, further: Iterable[str]) -> list[str]:
        """Return queries with one row per variable: its name and its value."""

    @abstractmethod
    def waits(self, kind: str, version: str) -> list[str]:
        """Return queries with one row per kind of file: writes, bytes, syncs, ns in writes, ns in syncs.

        All of them count from the start of the server.
        """

    @abstractmethod
    def log_directories(self, variables: Mapping[str, str]) -> list[str]:
        """Return the directories of the logs that a commit waits for, relative to the data directory."""

    @abstractmethod
    def options_of(self, login_path: str) -> dict[str, str]:
        """Return the options of a login path or a service in the user's files. Raises Refused if none has it."""

    @abstractmethod
    def default_user(self) -> str: ...

    @abstractmethod
    def with_tls(self, connection: Connection, options: Mapping[str, str]) -> Connection:
        """Return the connection with the options for encryption."""

    @abstractmethod
    def sysbench_options(self, connection: Connection) -> list[str]:
        """Return sysbench's options. The password is not among them."""

    @abstractmethod
    def tables(self, database: str) -> tuple[str, bool]:
        """Return the query for the tables of a database, and whether it must run in that database."""

    def secrets(self, connection: Connection) -> str:
        """Return lines of a sysbench configuration file, which sysbench reads from a pipe."""
        return ""

    def socket_path(self, connection: Connection) -> str:
        return connection.socket

    def hint(self, connection: Connection, message: str) -> str:
        """Return what the user, or the server's administrator, can do about an error."""
        return ""
