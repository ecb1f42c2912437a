"""Who is at work on this box now: the processes that write, and the databases that run."""

from __future__ import annotations

from fstui.model.base import Base

SERVERS = {
    "mysqld": "mysql",
    "mariadbd": "mariadb",
    "postgres": "postgresql",
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
"""Programs, as /proc/PID/comm cuts them, that keep data for others, and what they are. Nobody stops one to measure."""


class WriterAtWork(Base, frozen=True, kw_only=True):
    """A process that writes now."""

    pid: int
    name: str
    bytes_per_s: float
    mounts: tuple[str, ...] = ()
    """Mount points on which it has files open to be written; none where that cannot be seen."""


class DatabaseAtWork(Base, frozen=True, kw_only=True):
    """A database server that runs."""

    pid: int
    name: str
    kind: str
    data_directory: str = ""
    """As the server calls it."""
    mounts: tuple[str, ...] = ()
    """Where that is mounted."""
    variables: dict[str, str] = {}
    """Settings that decide its durability, from its command line and its option files. What was set while it ran is
    not among them."""
    preloads: tuple[str, ...] = ()
    """Libraries in its memory that leave syncs out."""
    losing: tuple[str, ...] = ()
    """By which a commit of its may be lost."""
    told: bool = True
    """False: only its owner and root may look into it."""


class AtWork(Base, frozen=True, kw_only=True):
    """One look."""

    writers: tuple[WriterAtWork, ...] = ()
    """The busiest first."""
    databases: tuple[DatabaseAtWork, ...] = ()
    hidden: bool = False
    """Of other users' processes nothing was told."""
