"""A database server as it was found, and what its own settings say of the durability of a commit."""

from __future__ import annotations

from fstui.measure.kinds.base import StepSettings
from fstui.measure.kinds.server_kinds import KINDS, MYSQL, OFF, ServerKind
from fstui.model.base import Base
from fstui.model.settings import OpenFlag

DURABILITY = frozenset(name for kind in KINDS.values() for name in kind.durable)
"""Options that decide whether a commit is durable, and nothing else."""
DECISIVE = DURABILITY | {"log_bin", "innodb_flush_method", "innodb_doublewrite", "full_page_writes", "wal_sync_method"}
"""What says how a server's commits become durable."""
_OPENED_TO_SYNC = frozenset({"o_dsync", "open_datasync", "open_sync"})


class ServerSettings(StepSettings, frozen=True, kw_only=True):
    """What every kind of step has that lets sysbench drive servers of a database."""

    @property
    def operations(self) -> str | None:
        return "transactions"

    @property
    def program(self) -> str | None:
        return "sysbench"

    @property
    def wants_server(self) -> bool:
        return True

    @property
    def reports_itself(self) -> bool:
        return True


class Server(Base, frozen=True, kw_only=True):
    """Kind, title, where it is, the variables that decide its durability."""

    kind: str = ""
    title: str = ""
    """``MariaDB 10.11.19``."""
    where: str = ""
    """``throwaway``: started for the run; ``existing``: it was there."""
    reached: str = ""
    data_directory: str | None = None
    on_target: bool = True
    """Its data is on the filesystem that is measured, so that the devices below count what it does."""
    located: bool = True
    """False: the server's process was not found on this machine, so where its data is stored is not known."""
    variables: dict[str, str] = {}
    preloads: tuple[str, ...] = ()
    """Sync-stubbing libraries in its memory map."""

    @property
    def _kind(self) -> ServerKind:
        """A document without a kind is about a server of MySQL's family."""
        return KINDS.get(self.kind, MYSQL)

    @property
    def pages_twice_in_data(self) -> bool:
        """Its doublewrite pages are in the file of the system tablespace."""
        return self._kind.doublewrite_in_data

    @property
    def existing(self) -> bool:
        """It was there before the run."""
        return self.where == "existing"

    @property
    def log_is_ours(self) -> bool:
        """A MariaDB of our own, whose binary log we turned on: it is off by default, and sync_binlog then means
        nothing."""
        return self._kind.log_off_by_default and self.where == "throwaway"

    @property
    def logs_for_replicas(self) -> bool:
        """One that was there before and keeps a binary log: what is done here is done on its replicas too."""
        return self.existing and self.variables.get("log_bin", "off").lower() not in OFF

    @property
    def durability(self) -> tuple[str, ...]:
        """The settings that decide whether its commits are durable: ``name = value``, as the server has them."""
        return tuple(f"{name} = {self.variables[name]}" for name in self._kind.durable if name in self.variables)

    @property
    def introduction(self) -> tuple[str, ...]:
        """Its version, what decides its durability, where its data lies, and whether others get what is written."""
        lies = f"its data lies in {self.data_directory}" if self.data_directory else "where its data lies is not told"
        if not self.located:
            lies = "its process is not on this machine: the filesystem of its data is not known"
        elif not self.on_target:
            lies += ", and is not seen on the filesystem of this directory"
        return (
            self.title,
            ", ".join(self.durability),
            lies,
            *(["it keeps a binary log"] if self.logs_for_replicas else []),
        )

    @property
    def lossy(self) -> tuple[str, ...]:
        """The settings by which it says that a commit may be lost."""
        return tuple(f"{name} = {self.variables[name]}" for name in self._kind.lossy(self.variables))

    @property
    def log_flags(self) -> tuple[OpenFlag, ...]:
        """How the log that a commit waits for is opened: the binary log or the WAL; empty where a call syncs it."""
        have = self.variables
        logged = have.get("log_bin", "off").lower() == "on"
        method = have.get("wal_sync_method") or ("" if logged else have.get("innodb_flush_method", ""))
        if method.lower() not in _OPENED_TO_SYNC:
            return ()
        unbuffered = have.get("innodb_log_file_buffering", "on").lower() == "off"
        return ("direct", "dsync") if unbuffered else ("dsync",)

    @property
    def synced_by_writes(self) -> frozenset[str]:
        """The files, as FileWaits names them, that are opened with O_DSYNC or O_SYNC: each write is also a sync.

        https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html#sysvar_innodb_flush_method
        """
        have = {name: value.lower() for name, value in self.variables.items()}
        written_through = have.get("innodb_log_file_write_through", "off") == "on"
        files = {"redo log"} if written_through or have.get("innodb_flush_method") == "o_dsync" else set()
        if have.get("wal_sync_method") in _OPENED_TO_SYNC:
            files.add("WAL")
        return frozenset(files)
