"""A lab machine: its disks, the stack on them, what is declared, and the truth. One TOML file each."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from fstui.model.judgement import Verdict
from tests.lab.recipe import KERNELS, Kernel, Kind

DIRECTORY = Path(__file__).parent / "machines"
MOUNT = "/srv/data"


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a machine's file; a key that means nothing is a mistake."""


class Disk(Struct, frozen=True, kw_only=True):
    """A disk as the guest sees it, and the nbdkit behind it (QEMU's own cache=unsafe does not reach an NBD disk).

    Behind every disk stands a volatile write cache that dies with its process. ``cache = "writeback"`` writes it out on
    flush and FUA, ``"unsafe"`` acknowledges both and does nothing; ``"none"`` has no cache.

    A directory shared by virtiofs has no such server: the guest reaches the host's directory itself, or with
    ``"unsafe"`` a copy that is removed with the machine.
    """

    bus: Literal["nvme", "virtio", "scsi", "ahci", "megasas", "usb", "uas", "sd", "virtiofs"]
    size_mib: int = 512
    cache: Literal["writeback", "unsafe", "none"] = "writeback"
    write_cache: bool = True
    """What the disk says of itself; without one, QEMU flushes after every write."""
    fua: bool = False
    """A SCSI disk that takes FUA. QEMU's NVMe always says that it does, and ignores it (seen with QEMU 7.2)."""
    rpm: int | None = None
    write_ms: int = 1
    """Time of one write to the medium below the cache (of 64 KiB at the most)."""
    read_ms: int = 0
    forgetful_host: bool = False
    """What the disk writes out, at a flush too, dies as well: a host that drops flushes below its own page cache."""
    paths: int = 1
    """A SCSI disk reached over several is ``$name``, ``$name_2`` …; an NVMe disk stays one, by its own multipath."""

    @property
    def shared(self) -> bool:
        """A directory of the host instead of a disk: no server of blocks, no serial number."""
        return self.bus == "virtiofs"


class Stack(Struct, frozen=True, kw_only=True):
    """Shell commands in the guest; ``$name`` is the device of the disk of that name, ``$data`` where fstui writes."""

    make: list[str] = []
    """Once, on empty disks."""
    attach: list[str] = []
    """After ``make``, and after every boot."""
    during: list[str] = []
    """In the background from the moment that fstui has a directory of its own, while it measures."""


class LabMachine(Struct, frozen=True, kw_only=True):
    """What stands in ``machines/NAME.toml``."""

    title: str
    truth: Literal["honest", "lying"]
    tell: str
    """Where the lie can be seen from inside, or "none"; "" for an honest machine."""
    expected: list[Verdict]
    """What measurement alone may come to."""
    stack: Stack
    disks: dict[str, Disk] = {}
    story: str = ""
    """The report in the README's list of stories that it rebuilds."""
    scenario: str = "odirect-truth"
    settings: list[str] = []
    declare: list[str] = []
    """Options of ``fstui run`` that tell what the medium is."""
    environment: dict[str, str] = {}
    """Of fstui only, in the guest."""
    image: Kind = "base"
    kernels: tuple[Kernel, ...] = KERNELS
    """Those with which the truth is what is said here."""
    kernel_line: str = ""
    """More options of the kernel command line."""
    hypervisor: bool = True
    """The machine says that it is a virtual one."""
    cut: bool = True
    """Cutting its power shows the truth."""
    write: list[str] = []
    """Settings of ``fstui powercut write``."""

    def __post_init__(self) -> None:
        if (self.truth == "honest") != (self.tell == ""):
            raise ValueError('an honest machine has tell = "", a lying one a sentence, or "none"')


class BadMachine(Exception):  # noqa: N818  said as it is
    """The file and what is wrong in it."""


def load(name: str, directory: Path = DIRECTORY) -> LabMachine:
    """The machine of that name. Raises BadMachine."""
    path = directory / f"{name}.toml"
    try:
        return msgspec.toml.decode(path.read_bytes(), type=LabMachine)
    except FileNotFoundError:
        raise BadMachine(f"no machine {name}: python -m tests.lab list") from None
    except msgspec.MsgspecError as error:
        raise BadMachine(f"{path.name}: {error}") from error


def names(directory: Path = DIRECTORY) -> list[str]:
    return sorted(path.stem for path in directory.glob("*.toml"))


def proven() -> dict[str, list[Kernel]]:
    """The machines that were measured and cut without a fault, and under which kernels: only they are in the daily part
    of tests/run. Another line is added to proven.txt when it was."""
    lines = Path(__file__).with_name("proven.txt").read_text().splitlines()
    return {name: msgspec.convert(kernels, list[Kernel]) for name, *kernels in map(str.split, lines)}
