"""What a laboratory keeps of itself, in its directory: which storage is which, and the processes that serve disks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.simulate.lab.kinds import KINDS, Kind, Name
from fstui.state import ledger
from fstui.state.ledger import Entry
from fstui.state.remembered import write_readable

FILE = "lab.json"


class Storage(Base, frozen=True, kw_only=True):
    """One of its storages."""

    name: str
    kind: Name
    opened: bool = False
    """Its envelope."""
    pid: int = 0
    started: int = 0
    """The process that serves its disk, known by its start as well; 0: none does."""

    @property
    def truth(self) -> Kind:
        """What is in its envelope."""
        return KINDS[self.kind]

    @property
    def served(self) -> bool:
        """Its disk answers; one that nobody has to serve does."""
        return not self.truth.served or (self.pid > 0 and ledger.start_time(self.pid) == self.started)


class Lab(Base, frozen=True, kw_only=True):
    """A laboratory."""

    run: str
    directory: str
    storages: tuple[Storage, ...] = ()
    whole: bool = False
    """All of it is made, and nobody has begun to take it away."""

    def place(self, storage: Storage) -> str:
        """Where it is mounted."""
        return str(Path(self.directory, storage.name))

    def named(self, name: str) -> Storage:
        """Raises Refused."""
        for storage in self.storages:
            if name in (storage.name, self.place(storage)):
                return storage
        raise Refused(f"no storage of the laboratory is called {name!r}. There are {_listed(self.storages)}")

    def with_storage(self, changed: Storage) -> Lab:
        """With that one in the place of the one of its name, or as a further one."""
        others = [each for each in self.storages if each.name != changed.name]
        return msgspec.structs.replace(self, storages=tuple(sorted([*others, changed], key=lambda each: each.name)))


def write(lab: Lab) -> None:
    """Raises OSError."""
    write_readable(Path(lab.directory, FILE), lab)


def read(entry: Entry) -> Lab | None:
    """The laboratory that an entry of the ledger names; None where it was never begun, or another stands there."""
    try:
        lab = msgspec.convert(json.loads(Path(entry.what, FILE).read_bytes()), Lab)
    except (OSError, ValueError):
        return None
    return lab if (lab.run, lab.directory) == (entry.run, entry.what) else None


def entries() -> list[Entry]:
    """Of laboratories, in the ledger."""
    return [entry for entry in ledger.entries() if entry.kind == "lab"]


def stands(entry: Entry) -> bool:
    """It is whole, of this boot, and its disks are served: a class works with it, and nothing was left behind."""
    lab = read(entry) if entry.kind == "lab" and ledger.is_of_this_boot(entry) else None
    return lab is not None and lab.whole and all(storage.served for storage in lab.storages)


def standing() -> Lab:
    """The one on this box. Raises Refused."""
    found = [lab for entry in entries() if (lab := read(entry))]
    if not found:
        raise Refused("no laboratory stands on this box: fstui lab make DIR")
    return found[0]


def _listed(storages: Sequence[Storage]) -> str:
    return ", ".join(storage.name for storage in storages)
