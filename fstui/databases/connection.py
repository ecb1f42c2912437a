"""How a database is reached: by sysbench's words, none of which is a password."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from fstui.measure.kinds.server_kinds import KINDS, Driver
from fstui.model.base import Base

_NOT_IN_A_LINE = re.compile(r"[\s\"'#]")
PORTS: dict[Driver, int] = {kind.driver: kind.port for kind in KINDS.values()}


class Tls(Base, frozen=True, kw_only=True):
    """Paths of PEM files: whom to believe, and who we are."""

    ca: str
    certificate: str
    key: str


class Connection(Base, frozen=True, kw_only=True):
    """A server, and a database on it."""

    driver: Driver
    socket: str = ""
    """A unix socket; of PostgreSQL, the directory that it is in."""
    host: str = ""
    port: int = 0
    user: str
    password: str = ""
    database: str = ""
    login_path: str = ""
    """Where the password can be found again."""
    tls: Tls | None = None
    libpq: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables that libpq reads besides, PGSSLMODE and the like."""

    def words(self) -> list[str]:
        """Options of sysbench. The password goes by ``secrets`` and ``environment``."""
        named = {"user": self.user, "db": self.database}
        if self.socket and self.driver == "mysql":
            named["socket"] = self.socket
        else:
            named["host"] = self.socket or self.host
        if self.port or not self.socket:
            named["port"] = str(self.port or PORTS[self.driver])
        secured = ["--mysql-ssl=on"] if self.tls else []
        return [
            f"--db-driver={self.driver}",
            *secured,
            *(f"--{self.driver}-{name}={value}" for name, value in named.items()),
        ]

    def tls_files(self) -> dict[str, str]:
        """By the names under which sysbench 1.0 looks for them where it runs (src/drivers/mysql/drv_mysql.c)."""
        if self.tls is None:
            return {}
        named = {"cacert": self.tls.ca, "client-cert": self.tls.certificate, "client-key": self.tls.key}
        return {f"{name}.pem": str(Path(path).absolute()) for name, path in named.items()}

    def secrets(self) -> str:
        """Lines of a sysbench configuration file, read from a pipe; such a line cannot hold spaces, quotes or a #."""
        plain = self.password and not _NOT_IN_A_LINE.search(self.password)
        return f"mysql-password={self.password}\n" if plain and self.driver == "mysql" else ""

    def environment(self) -> dict[str, str]:
        """Variables that libmariadb and libpq read, the password among them.

        https://mariadb.com/kb/en/mariadb-environment-variables/,
        https://www.postgresql.org/docs/current/libpq-envars.html
        """
        if not self.password:
            return self.libpq
        return {**self.libpq, "PGPASSWORD" if self.driver == "pgsql" else "MYSQL_PWD": self.password}

    @property
    def where(self) -> str:
        """In words: ``socket /run/mysqld/mysqld.sock``, ``db7:3306``."""
        return f"socket {self.socket}" if self.socket else f"{self.host}:{self.port or PORTS[self.driver]}"
