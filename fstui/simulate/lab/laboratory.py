"""The laboratory of this host: its kinds of storage, how it is made, used and removed.

Functions that may hang run in a child process.
"""

from __future__ import annotations

import json
import os
import random
import secrets
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

import msgspec

from fstui import proc
from fstui.measure.children import call_helper, in_child
from fstui.measure.wire import own_directory
from fstui.model.base import Base
from fstui.model.errors import Refused
from fstui.model.judgement import Verdict
from fstui.model.quantities import size
from fstui.simulate.lab import kernel
from fstui.state import files, ledger, paths
from fstui.state.ledger import LedgerEntry
from fstui.storage.mounts import mount_of_path

SIZE_BYTES = 256 << 20
ROOM_BYTES = 2 << 30
TIMEOUT_S = 20.0
_FILE = "lab.json"
"""The record of the laboratory. It is in the state directory, so that 'rm -rf' in the laboratory does not remove it."""
_BACKING = "backing"
"""The directory of the images and of the overlay's layers."""
_LIBRARIES = ("/usr/lib/*/libeatmydata.so*", "/usr/lib*/libeatmydata.so*", "/usr/lib/*/libeatmydata/libeatmydata.so*")

Name = Literal["barriers", "volatile", "memory", "preload", "limited"]
WRITES_PER_S = 100


class LabKind(NamedTuple):
    """One kind of storage, and its envelope: the answer, opened after the students have guessed."""

    title: str
    truth: str
    verdict: Verdict
    rule: str
    seen: str
    """Where the fault can be seen without fstui."""


KINDS: dict[Name, LabKind] = {
    "barriers": LabKind(
        "barriers off",
        "An ext4 on a loop device, mounted with barrier=0: it writes what is synced and never asks the disk to flush "
        "its cache.",
        "not-durable",
        "barriers-off",
        "nobarrier in /proc/fs/ext4/loopN/options",
    ),
    "volatile": LabKind(
        "a volatile overlay",
        "An overlay mounted with the option volatile, as some container builds use it: each sync succeeds and none is "
        "passed on.",
        "not-durable",
        "overlay-volatile",
        "volatile in /proc/self/mounts",
    ),
    "memory": LabKind(
        "memory",
        "A tmpfs: each sync succeeds, and everything is lost with the power.",
        "not-durable",
        "in-memory",
        "tmpfs in /proc/self/mounts",
    ),
    "preload": LabKind(
        "a library that drops syncs",
        "The disk is durable; 'fstui lab run' starts programs with libeatmydata, in which fsync does nothing.",
        "not-durable",
        "sync-stubbed",
        "libeatmydata in /proc/PID/maps of the program",
    ),
    "limited": LabKind(
        "a limited disk",
        "The disk is durable and slow: 'fstui lab run' starts programs in a cgroup that may write "
        f"{WRITES_PER_S} times a second.",
        "consistent",
        "flushes-arrive",
        "blkio.throttle.write_iops_device or io.max of the cgroup in /proc/PID/cgroup",
    ),
}
NAMES = ("alder", "birch", "cedar", "elm", "hazel", "linden", "maple", "oak", "rowan", "willow")
"""The assignment of names is random, so that no name tells the kind."""


class LabVolume(Base, frozen=True, kw_only=True):
    name: str
    kind: Name
    opened: bool = False

    @property
    def truth(self) -> LabKind:
        return KINDS[self.kind]


class Lab(Base, frozen=True, kw_only=True):
    """The laboratory as it is recorded in the state directory."""

    run: str
    directory: str
    identity: tuple[int, int]
    """Device and inode of the directory."""
    storages: tuple[LabVolume, ...] = ()
    complete: bool = False
    """Whether all of it was made and its removal has not begun."""

    def mount_point(self, storage: LabVolume) -> str:
        return str(Path(self.directory, storage.name))

    def named(self, name: str) -> LabVolume:
        for storage in self.storages:
            if name in (storage.name, self.mount_point(storage)):
                return storage
        known = ", ".join(storage.name for storage in self.storages)
        raise Refused(f"The laboratory has no filesystem '{name}'. It has {known}")

    def with_storage(self, changed: LabVolume) -> Lab:
        others = [storage for storage in self.storages if storage.name != changed.name]
        return msgspec.structs.replace(self, storages=tuple(sorted([*others, changed], key=lambda entry: entry.name)))


class Made(NamedTuple):
    """A new laboratory, and why some kinds are missing on this host: title → reason."""

    lab: Lab
    missing: dict[str, str]


def make(parent: str, name: str) -> Made:
    """Make the laboratory in a new directory of ``parent``, which the caller has checked. Raises Refused, OSError."""
    directory = _new(parent, name)
    run = secrets.token_hex(3)
    entry = ledger.enter(run, "lab", directory)
    try:
        top = own_directory.make(directory)
    except OSError as error:
        ledger.strike_out(entry)
        raise Refused(f"Cannot make {directory}: {error.strerror}") from None
    os.fchmod(top, 0o755)  # so that students can enter it; only root can reach the backing files
    status = os.fstat(top)
    lab = Lab(run=run, directory=directory, identity=(status.st_dev, status.st_ino))
    _write(lab)
    os.mkdir(_BACKING, 0o700, dir_fd=top)
    missing: dict[str, str] = {}
    for kind, called in zip(KINDS, random.SystemRandom().sample(NAMES, len(KINDS)), strict=True):
        storage = LabVolume(name=called, kind=kind)
        try:
            _build(lab, storage, top)
        except (Refused, OSError) as problem:
            missing[storage.truth.title] = str(problem)
        else:
            lab = lab.with_storage(storage)
        _write(lab)
    lab = msgspec.structs.replace(lab, complete=True)
    _write(lab)
    return Made(lab, missing)


def current() -> Lab:
    """Return the laboratory of this host. Raises Refused if there is none."""
    lab = _read()
    if lab is None or not any(entry.run == lab.run for entry in entries()):
        raise Refused("There is no laboratory on this host. Make one with 'fstui lab make DIR'")
    return lab


def is_complete(entry: LedgerEntry) -> bool:
    """Return whether students can use it: it was made completely, since the last boot, and not deleted."""
    lab = _read() if entry.kind == "lab" and ledger.is_of_this_boot(entry) else None
    if lab is None or lab.run != entry.run or not lab.complete:
        return False
    # 'rm -rf' fails at the mount points and deletes the rest
    return all(Path(lab.directory, name).exists() for name in (own_directory.MARK, _BACKING))


def entries() -> list[LedgerEntry]:
    return [entry for entry in ledger.entries() if entry.kind == "lab"]


def open_envelope(name: str) -> LabVolume:
    lab = current()
    opened = msgspec.structs.replace(lab.named(name), opened=True)
    _write(lab.with_storage(opened))
    return opened


def run(name: str, command: tuple[str, ...], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command, started as that kind of storage requires. Raises Refused, OSError."""
    lab = current()
    storage, changed = lab.named(name), dict(environment)
    if storage.kind == "preload":
        changed["LD_PRELOAD"] = _library()
    if storage.kind == "limited":
        kernel.join_cgroup(lab.run)
    try:
        os.execvpe(command[0], command, changed)
    except OSError as error:
        raise Refused(f"Cannot start {command[0]}: {error.strerror}") from None


def take_down(entry: LedgerEntry) -> str:
    """Remove mounts, loop devices and the cgroup. Return the directory that is left. Raises Refused, OSError."""
    lab = _read()
    lab = lab if lab and lab.run == entry.run else None
    if lab:
        _write(msgspec.structs.replace(lab, complete=False))
    # the mount points show where it is if a user has renamed it
    directories = [entry.what, *{str(Path(point).parent) for point in kernel.mount_points(entry.run)}]
    kernel.remove(entry.run)
    for directory in directories if lab else ():
        with suppress(OSError), ExitStack() as opened:
            top = _opened(opened, directory)
            status = os.fstat(top)
            if lab and (status.st_dev, status.st_ino) == lab.identity:
                if own_directory.MARK not in os.listdir(top):  # noqa: PTH208  'rm -rf' may have removed it
                    os.close(os.open(own_directory.MARK, own_directory.NEW, 0o600, dir_fd=top))
                return directory
    return entry.what


def forget() -> None:
    (paths.state_dir() / _FILE).unlink(missing_ok=True)


async def remove_left_behind(entry: LedgerEntry) -> str | None:
    """Remove the laboratory. Returns None, or a sentence with the reason why it could not be removed."""
    return await ledger.remove(entry, _remove(entry))


async def _remove(entry: LedgerEntry) -> None:
    directory = await in_child(take_down, entry, timeout_s=TIMEOUT_S, where=entry.what)
    await call_helper("measure.helpers.directory.dismantle", directory, timeout_s=TIMEOUT_S, where=directory)
    await in_child(forget)


def _new(parent: str, name: str) -> str:
    """Return the path of the new directory. Raises Refused."""
    for entry in entries():
        way = "fstui lab remove" if is_complete(entry) else "fstui clean"
        raise Refused(f"There is a laboratory in {entry.what} already. '{way}' removes it")
    directory = Path(parent, name)
    if os.path.lexists(directory):
        raise Refused(f"{directory} exists. Name a new directory: fstui makes and removes it")
    below = mount_of_path(str(directory), {mount.mount_point: mount for mount in proc.mounts()})
    if below is not None and below.fstype in {"tmpfs", "ramfs"}:
        raise Refused(f"{directory} would be in memory ({below.fstype}). Name a directory on a disk")
    room = os.statvfs(parent)
    if room.f_bavail * room.f_frsize < ROOM_BYTES:
        raise Refused(f"{parent} is too full: the laboratory needs {size(ROOM_BYTES)}")
    return str(directory)


def _build(lab: Lab, storage: LabVolume, top: int) -> None:
    """Mount that storage below the held directory. Raises Refused, OSError."""
    with ExitStack() as opened:
        backing = _opened(opened, _BACKING, top)
        os.mkdir(storage.name, dir_fd=top)
        point = _opened(opened, storage.name, top)
        if storage.kind == "preload":
            _library()
        if storage.kind == "memory":
            kernel.mount(kernel.mark(lab.run), point, "tmpfs", f"size={SIZE_BYTES},mode=1777")
            return
        if storage.kind == "volatile":
            _mount_overlay(lab, point, backing)
            return
        image = kernel.make_ext4(backing, storage.name, SIZE_BYTES)
        opened.callback(os.close, image)
        loop = kernel.attach(image, lab.run)
        opened.callback(os.close, loop.fd)  # by then the mount keeps the device
        if storage.kind == "limited":
            kernel.make_cgroup(lab.run, loop.name, WRITES_PER_S)
        kernel.mount(f"/dev/{loop.name}", point, "ext4", "barrier=0" if storage.kind == "barriers" else "")
        os.fchmod(_opened(opened, storage.name, top), 0o1777)  # opened again: now the root of the mounted filesystem


def _mount_overlay(lab: Lab, point: int, backing: int) -> None:
    names = ("lower", "upper", "work")
    for name in names:
        os.mkdir(name, dir_fd=backing)
    with ExitStack() as opened:
        os.fchmod(_opened(opened, "upper", backing), 0o1777)
    os.fchdir(backing)  # the kernel resolves the relative names from there
    options = ",".join(f"{name}dir={name}" for name in names)
    try:
        kernel.mount(kernel.mark(lab.run), point, "overlay", f"{options},volatile")
    finally:
        os.chdir("/")


def _opened(opened: ExitStack, name: str, within: int | None = None) -> int:
    fd = os.open(name, own_directory.OWN, dir_fd=within)
    opened.callback(os.close, fd)
    return fd


def _library() -> str:
    libraries = sorted(path for pattern in _LIBRARIES for path in Path("/").glob(pattern.lstrip("/")))
    if not libraries:
        raise Refused("libeatmydata is missing: apt-get install libeatmydata1")
    return str(libraries[0])


def _write(lab: Lab) -> None:
    files.write_private(paths.state_dir() / _FILE, json.dumps(msgspec.to_builtins(lab)).encode() + b"\n")


def _read() -> Lab | None:
    with suppress(OSError, Refused, ValueError, msgspec.ValidationError):
        data, _ = files.read_regular(paths.state_dir() / _FILE)
        return msgspec.convert(json.loads(data), Lab)
    return None
