"""The parameters of a simulated disk, and functions that load them from its TOML file and change them."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fstui.model.base import Amount, Base, Count
from fstui.model.errors import Refused, hint_for
from fstui.model.shipped import shipped_files
from fstui.model.storage import MediumCache, MediumClass
from fstui.state.files import read_regular

Time = Annotated[float, Meta(ge=0, le=1e8)]
"""Microseconds or milliseconds."""
Positive = Annotated[float, Meta(gt=0, le=1e9)]
PositiveInt = Annotated[int, Meta(ge=1, le=1 << 40)]
SmallInt = Annotated[int, Meta(ge=0, le=1024)]
SmallPositiveInt = Annotated[int, Meta(ge=1, le=1024)]


class ParameterTable(Base, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the TOML file."""


class PlatterParameters(ParameterTable, frozen=True, kw_only=True):
    """A rotating disk. A seek over a third of the tracks takes ``seek_ms``, a seek to the next track ``settle_ms``."""

    rpm: Positive
    seek_ms: Time = 8.5
    settle_ms: Time = 1.0
    track_bytes: PositiveInt = 1 << 20
    tracks: PositiveInt = 1_000_000
    verify: bool = False
    """A flush takes one more revolution, because the drive verifies the data."""
    mirrors: SmallPositiveInt = 1
    """Number of disks in a mirror. They rotate independently. A write takes as long as on the slowest disk."""


class NandParameters(ParameterTable, frozen=True, kw_only=True):
    """Flash: several channels program pages in parallel."""

    program_us: Time
    page_bytes: PositiveInt = 16384
    channels: SmallPositiveInt = 4


class PersistentParameters(ParameterTable, frozen=True, kw_only=True):
    """3D XPoint: a completed write is durable."""

    write_us: Time


class NetworkParameters(ParameterTable, frozen=True, kw_only=True):
    """A network volume: a write completes when the slowest copy has stored the data."""

    round_trip_us: Time
    spread: Annotated[float, Meta(ge=0, le=10)] = 0.1
    """Standard deviation of the logarithm of the round trip."""
    copies: SmallPositiveInt = 3
    ops_per_s: Amount = 0.0
    """The provider's limit after ``burst_ops`` are used up; 0: no limit."""
    burst_ops: Count = 0


MediumParameters = PlatterParameters | NandParameters | PersistentParameters | NetworkParameters


class Cache(ParameterTable, frozen=True, kw_only=True):
    bytes: Count = 64 << 20
    protected: bool = False
    """Whether capacitors save the content of the cache after a power cut."""
    flush: Literal["honest", "ignored"] = "honest"
    """``ignored``: the disk acknowledges a flush at once without doing anything."""
    fua: Literal["honest", "ignored"] = "honest"


class DiskParameters(ParameterTable, frozen=True, kw_only=True):
    """One disk: the properties that it reports, and from ``command_us`` on, its real properties."""

    name: str = "sda"
    model: str = ""
    link: str = "sata"
    rotational: bool = False
    write_cache: Literal["write back", "write through"] = "write back"
    fua: bool = False
    medium: MediumClass = "unknown"
    medium_cache: MediumCache = "unknown"
    grade: str = ""
    """``consumer``, ``cloud`` or ``hard disk``, if the model is known."""
    command_us: Time = 20.0
    """The time for a command when the disk is idle."""
    bytes_per_us: Positive = 500.0
    """The speed of the link."""
    flush_us: Time = 0.0
    """Additional time for a flush."""
    failing_write: Count = msgspec.field(default=0, name="fails_write")
    """Which write of the program fails with an I/O error (1: the first; 0: none). Only buffered writes on ext4 fail."""
    platter: PlatterParameters | None = None
    nand: NandParameters | None = None
    persistent: PersistentParameters | None = None
    network: NetworkParameters | None = None
    cache: Cache | None = None

    @property
    def medium_parameters(self) -> MediumParameters:
        medium = self.platter or self.nand or self.persistent or self.network
        assert medium is not None, "checked by load()"
        return medium


class CacheDevice(DiskParameters, frozen=True, kw_only=True):
    """A cache device, which receives every write. A flush first commits the map of cached blocks."""

    kind: Literal["dm-cache", "bcache"] = "dm-cache"
    hop_us: Time = 20.0
    """The time to hand a request from one thread of the driver to the next."""
    map_writes: SmallInt = 2
    """Number of sequential writes to the map before each flush."""


class FilesystemParameters(ParameterTable, frozen=True, kw_only=True):
    kind: Literal["ext4", "zfs"] = "ext4"
    barrier: bool = True
    data: Literal["ordered", "journal"] = "ordered"
    sync: Literal["standard", "disabled"] = "standard"
    """ZFS only."""
    hops: SmallInt = 0
    """ZFS only: the number of threads that handle a write of the intent log and its completion."""


class HostParameters(ParameterTable, frozen=True, kw_only=True):
    """The host: CPU time along the I/O path, and what runs on the host."""

    syscall_us: Time = 1.0
    copy_us: Time = 0.6
    """The time to copy one page into the page cache."""
    submit_us: Time = 6.0
    complete_us: Time = 6.0
    wake_us: Time = 12.0
    """The time to wake up another thread, such as a journal or pool thread."""
    retries_sync: bool = False
    """Whether the program repeats a failed sync and accepts the second result. If not, the error ends the program."""
    program_us: Time = 1.0
    """CPU time of the program between two operations."""
    virtualization: str | None = None
    cloud: str | None = None
    syncs_stubbed: bool = False
    """A library such as libeatmydata is loaded into the measuring process."""


class SimulationParameters(ParameterTable, frozen=True, kw_only=True):
    """A simulated disk with its host."""

    name: str
    title: str
    truth: str
    """What the disk really does. Students see it at the end."""
    seed: Count = 1
    disk: DiskParameters
    log: DiskParameters | None = None
    """ZFS only: a separate device for the intent log."""
    cache_device: CacheDevice | None = msgspec.field(default=None, name="front")
    filesystem: FilesystemParameters = FilesystemParameters()
    host: HostParameters = HostParameters()

    @property
    def disks(self) -> tuple[DiskParameters | None, ...]:
        return self.disk, self.log, self.cache_device


def names() -> list[str]:
    return sorted(shipped_files("disks"))


def load(name: str, changes: dict[str, Any] | None = None) -> SimulationParameters:
    """Load a disk by name or file. ``changes``: ``disk.platter.rpm`` → value. Raises Refused with file and key."""
    path = _path_of(name)
    try:
        text, _ = read_regular(path)
        document = msgspec.toml.decode(text)
        msgspec.convert(document, SimulationParameters)  # before the changes, so that an error must be in the file
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: {_reason(error)}") from None
    except (ValueError, RecursionError) as error:  # ValueError: a very long integer
        raise Refused(f"{path}: {error}") from None
    for key, value in (changes or {}).items():
        _set_value(document, key, value)
    try:
        simulated = msgspec.convert(document, SimulationParameters)
    except msgspec.MsgspecError as error:
        hint = f"'fstui lessons --disks {name}' lists the parameters"
        raise Refused(f"cannot set {', '.join(changes or ())}: {_reason(error)}. {hint}") from None
    for device in filter(None, simulated.disks):
        media = [device.platter, device.nand, device.persistent, device.network]
        if sum(medium is not None for medium in media) != 1:
            raise Refused(f"{path}: {device.name}: a disk needs exactly one of platter, nand, persistent, network")
    return simulated


def with_change(parameters: SimulationParameters, text: str) -> SimulationParameters:
    """Return the disk with ``KEY=VALUE`` applied. Raises Refused, also for a table that the disk does not have."""
    key, value = parse_change(text)
    document = msgspec.to_builtins(parameters)
    _set_value(document, key, value)
    try:
        return msgspec.convert(document, SimulationParameters)
    except msgspec.MsgspecError as error:
        raise Refused(f"{text}: {_reason(error)}") from None


def parse_change(text: str) -> tuple[str, Any]:
    """Return the key and the value of ``KEY=VALUE``. Raises Refused."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise Refused(f"'{text}' is not KEY=VALUE, for example disk.platter.rpm=5400")
    if value in {"true", "false"}:
        return key, value == "true"
    for kind in (int, float):
        with suppress(ValueError):
            return key, kind(value)
    return key, value


def _reason(error: Exception) -> str:
    return str(error).replace("Object contains unknown field", "there is no parameter").replace(" - at `$.", " in `")


def _path_of(name: str) -> Path:
    if "/" in name or name.endswith(".toml"):
        return Path(name)
    if path := shipped_files("disks").get(name):
        return path
    raise Refused(f"no simulated disk '{name}'.{hint_for(name, names())} Choose one of: {', '.join(names())}.")


def _set_value(document: dict[str, Any], key: str, value: Any) -> None:
    *tables, last = key.split(".")
    for table in tables:
        document = document.setdefault(table, {})
        if not isinstance(document, dict):
            raise Refused(f"{key}: a simulated disk has no table '{table}'")
    document[last] = value
