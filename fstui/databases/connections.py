"""The parameters of a connection to a database server. sysbench makes the connection: see ``fstui.databases.sql``."""

import msgspec

from fstui.measure.kinds.servers import Driver
from fstui.model.base import Base
from fstui.model.errors import Refused

PASSWORD_VARIABLE = "FSTUI_DB_PASSWORD"


class DatabaseError(Refused):
    """An error that the server or sysbench reported."""


class Tls(Base, frozen=True, kw_only=True):
    """Paths of PEM files: the certificate authority, and the client's certificate and key."""

    ca: str
    certificate: str
    key: str


class Connection(Base, frozen=True, kw_only=True):
    """How to reach a server, and a database on it. The ledger stores all of this except the password."""

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
