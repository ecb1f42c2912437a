"""A lab machine: its disks, the stack on them, what is declared, and the truth. One TOML file each."""

from pathlib import Path
from typing import Literal

import msgspec

from fstui.model.judgement import Verdict
from tests.lab.recipe import KERNELS, Kernel, Kind

DIRECTORY = Path(__file__).parent / "machines"
MOUNT = "/srv/data"


class Struct(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a machine's file. Unknown keys are refused."""


class Disk(Struct, frozen=True, kw_only=True):
    """A disk as the guest sees it, and its nbdkit server.

    The server has a volatile write cache that ends with its process. With ``cache = "writeback"`` it writes the cache
    out on flush and FUA, with ``"unsafe"`` it acknowledges both and does nothing. ``"none"`` has no cache. (QEMU's own
    cache=unsafe does not apply to an NBD disk.)

    A directory shared by virtiofs has no such server. The guest uses the host's directory, or with ``"unsafe"`` a copy
    that is removed with the machine.
    """

    bus: Literal["nvme", "virtio", "scsi", "ahci", "megasas", "usb", "uas", "sd", "virtiofs"]
    size_mib: int = 512
    cache: Literal["writeback", "unsafe", "none"] = "writeback"
    write_cache: bool = True
    """Whether the disk reports a write cache. Without one, QEMU flushes after every write."""
    fua: bool = False
    """Whether a SCSI disk supports FUA. QEMU's NVMe disk reports support but ignores FUA (seen with QEMU 7.2)."""
    rpm: int | None = None
    write_ms: int = 1
    """Time of one write, of at most 64 KiB, to the medium below the cache."""
    read_ms: int = 0
    forgetful_host: bool = False
    """Whether even flushed data is lost, as on a host that drops flushes below its page cache."""
    paths: int = 1
    """The paths of a SCSI disk are ``$name``, ``$name_2`` …; those of an NVMe disk form one device in the kernel."""

    @property
    def shared(self) -> bool:
        """Whether this is a directory of the host instead of a disk, without nbdkit and serial number."""
        return self.bus == "virtiofs"


class Stack(Struct, frozen=True, kw_only=True):
    """Shell commands in the guest. ``$name`` is the device of that disk, ``$data`` the directory where fstui writes."""

    make: list[str] = []
    """Run once, on empty disks."""
    attach: list[str] = []
    """Run after ``make`` and after every boot."""
    during: list[str] = []
    """Run in the background as soon as fstui has created its directory, while it measures."""


class LabMachine(Struct, frozen=True, kw_only=True):
    """The content of ``machines/NAME.toml``."""

    title: str
    truth: Literal["honest", "lying"]
    tell: str
    """How the lie can be seen inside the guest, or "none". Empty for an honest machine."""
    expected: list[Verdict]
    """The verdicts that are allowed after a measurement without a power cut."""
    stack: Stack
    disks: dict[str, Disk] = {}
    story: str = ""
    """The public report that the machine rebuilds."""
    scenario: str = "odirect-truth"
    settings: list[str] = []
    declare: list[str] = []
    """Options of ``fstui run`` that declare the medium."""
    environment: dict[str, str] = {}
    """Environment variables for fstui in the guest."""
    image: Kind = "base"
    kernels: tuple[Kernel, ...] = KERNELS
    """The kernels for which ``truth`` is right."""
    kernel_line: str = ""
    """Additional options of the kernel command line."""
    hypervisor: bool = True
    """Whether the machine reports that it is virtual."""
    cut: bool = True
    """Whether cutting its power shows the truth."""
    write: list[str] = []
    """Settings of ``fstui powercut write``."""

    def __post_init__(self) -> None:
        if (self.truth == "honest") != (self.tell == ""):
            raise ValueError('an honest machine has tell = "", a lying one a sentence, or "none"')


class BadMachine(Exception):  # noqa: N818
    """A machine's file is wrong; the message names the file and the mistake."""


def load(name: str, directory: Path = DIRECTORY) -> LabMachine:
    """Load a machine by name. Raises BadMachine."""
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
    """Return the machines that were measured and cut without a fault, with their kernels (proven.txt).

    Only these are in the daily part of tests/run.
    """
    lines = Path(__file__).with_name("proven.txt").read_text().splitlines()
    return {name: msgspec.convert(kernels, list[Kernel]) for name, *kernels in map(str.split, lines)}
