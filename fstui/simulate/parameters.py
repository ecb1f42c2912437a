"""What a simulated storage is made of, as its TOML file says, and where these files are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from fstui.model.base import Base
from fstui.model.errors import Refused, meant
from fstui.model.shipped import shipped
from fstui.model.storage import MediumCache, MediumClass


class Part(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of such a file."""


class Platter(Part, frozen=True, kw_only=True):
    """A disk that turns. ``seek_ms``: over a third of the tracks; ``settle_ms``: to the next one."""

    rpm: float
    seek_ms: float = 8.5
    settle_ms: float = 1.0
    track_bytes: int = 1 << 20
    tracks: int = 1_000_000
    verify: bool = False
    """A flush ends a turn later: the drive reads back what it wrote."""
    mirrors: int = 1
    """Disks of a mirror: each turns by itself, and the slowest answers."""


class Nand(Part, frozen=True, kw_only=True):
    """Flash: pages are programmed on several channels at once."""

    program_us: float
    page_bytes: int = 16384
    channels: int = 4


class Persistent(Part, frozen=True, kw_only=True):
    """A medium that has what it was given when it answers: 3D XPoint."""

    write_us: float


class Network(Part, frozen=True, kw_only=True):
    """A volume beyond a network: each write is answered when the slowest copy has it."""

    round_trip_us: float
    spread: float = 0.1
    """Sigma of its logarithm."""
    copies: int = 3
    ops_per_s: float = 0.0
    """Its provider lets no more through, once ``burst_ops`` are used up; 0: no throttle."""
    burst_ops: int = 0


class Cache(Part, frozen=True, kw_only=True):
    """The disk's own write cache."""

    bytes: int = 64 << 20
    protected: bool = False
    """A capacitor saves it when the power goes."""
    flush: Literal["honest", "ignored"] = "honest"
    """``ignored``: answered at once, and nothing is done."""
    fua: Literal["honest", "ignored"] = "honest"


class Device(Part, frozen=True, kw_only=True):
    """One disk: what it says of itself, then what it is."""

    name: str = "sda"
    model: str = ""
    link: str = "sata"
    rotational: bool = False
    write_cache: Literal["write back", "write through"] = "write back"
    fua: bool = False
    medium: MediumClass = "unknown"
    medium_cache: MediumCache = "unknown"
    grade: str = ""
    """``consumer``, ``cloud`` or ``hard disk``, where its model is known for it."""
    command_us: float = 20.0
    """From a request to its answer where nothing else has to be waited for."""
    bytes_per_us: float = 500.0
    """Its link."""
    flush_us: float = 0.0
    """What a flush takes besides."""
    platter: Platter | None = None
    nand: Nand | None = None
    persistent: Persistent | None = None
    network: Network | None = None
    cache: Cache | None = None

    @property
    def made_of(self) -> Platter | Nand | Persistent | Network:
        """Its medium."""
        found = self.platter or self.nand or self.persistent or self.network
        assert found is not None, "seen to when it was loaded"
        return found


class Front(Device, frozen=True, kw_only=True):
    """A fast disk before the slow one: every write goes to it, and a flush commits its map of blocks first."""

    kind: Literal["dm-cache", "bcache"] = "dm-cache"
    hop_us: float = 20.0
    """From one thread of the driver to the next, with each request."""
    map_writes: int = 2
    """Writes of its map with each flush, one after the other."""


class Filesystem(Part, frozen=True, kw_only=True):
    """What stands on the disk."""

    kind: Literal["ext4", "zfs"] = "ext4"
    barrier: bool = True
    data: Literal["ordered", "journal"] = "ordered"
    sync: Literal["standard", "disabled"] = "standard"
    """Of ZFS."""
    hops: int = 0
    """Of ZFS: threads that a write of the intent log passes on its way, and its answer on the way back."""


class Host(Part, frozen=True, kw_only=True):
    """The box: what its processor does on the way."""

    syscall_us: float = 1.0
    copy_us: float = 0.6
    """A page into the page cache."""
    submit_us: float = 6.0
    complete_us: float = 6.0
    wake_us: float = 12.0
    """Until another thread runs: the journal's, a pool's."""
    program_us: float = 1.0
    """What the program itself does between two operations."""
    virtualization: str | None = None
    cloud: str | None = None
    syncs_stubbed: bool = False
    """libeatmydata, or its like, is loaded into the process that measures."""


class Simulated(Part, frozen=True, kw_only=True):
    """One simulated storage."""

    name: str
    title: str
    truth: str
    """What it does in truth: the class opens it last."""
    seed: int = 1
    disk: Device
    log: Device | None = None
    """ZFS: a device of its own for the intent log."""
    front: Front | None = None
    filesystem: Filesystem = Filesystem()
    host: Host = Host()

    @property
    def parts(self) -> tuple[Device | None, ...]:
        """Its disk, the log's, and the one in front."""
        return self.disk, self.log, self.front


def names() -> list[str]:
    """Of those that came with the package."""
    return sorted(shipped("disks"))


def load(name: str, changes: dict[str, Any] | None = None) -> Simulated:
    """One by its name or its file. ``changes``: ``disk.platter.rpm`` → value. Raises Refused with file and key."""
    path = _path_of(name)
    try:
        document = msgspec.toml.decode(path.read_bytes())
        for key, value in (changes or {}).items():
            _put(document, key, value)
        found = msgspec.convert(document, Simulated)
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {error}") from None
    for device in filter(None, found.parts):
        media = [device.platter, device.nand, device.persistent, device.network]
        if sum(medium is not None for medium in media) != 1:
            raise Refused(f"{path}: {device.name}: a disk has one of platter, nand, persistent, network")
    return found


def changed(made: Simulated, text: str) -> Simulated:
    """With ``KEY=VALUE`` of it turned. Raises Refused for what no disk takes, or what it cannot become meanwhile."""
    key, value = change(text)
    document = msgspec.to_builtins(made)
    _put(document, key, value)
    try:
        found = msgspec.convert(document, Simulated)
    except msgspec.MsgspecError as error:
        raise Refused(f"{text}: {error}") from None
    for before, after in zip(made.parts, found.parts, strict=True):
        if (before is None) != (after is None) or (
            before and after and type(before.made_of) is not type(after.made_of)
        ):
            raise Refused(f"{text}: it would be another disk: start again with it")
    return found


def change(text: str) -> tuple[str, Any]:
    """``KEY=VALUE`` as a key and a value of its type. Raises Refused."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Refused(f"'{text}': write KEY=VALUE, as in disk.platter.rpm=5400")
    if value in {"true", "false"}:
        return key, value == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return key, kind(value)
    return key, value


def _path_of(name: str) -> Path:
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    if path := shipped("disks").get(name):
        return path
    raise Refused(f"no simulated disk '{name}'.{meant(name, names())} There are: {', '.join(names())}.")


def _put(document: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    for table in tables:
        document = document.setdefault(table, {})
        if not isinstance(document, dict):
            raise Refused(f"{key}: {table} is no table of a simulated disk")
    document[last] = value
