"""Create, use and remove the laboratory of this host, and define its kinds of storage.

The callers run functions that may hang in a child process.
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
from fstui.measure.children import call_helper, call_in_child
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
MIN_FREE_BYTES = 2 << 30
TIMEOUT_S = 20.0
_RECORD_NAME = "lab.json"
"""The record of the laboratory. It is in the state directory, because 'rm -rf' in the laboratory must not remove it."""
_BACKING = "backing"
"""The directory of the images and of the overlay's layers."""
_LIBRARIES = ("/usr/lib/*/libeatmydata.so*", "/usr/lib*/libeatmydata.so*", "/usr/lib/*/libeatmydata/libeatmydata.so*")

KindName = Literal["barriers", "volatile", "memory", "preload", "limited"]
WRITES_PER_S = 100


class LabKind(NamedTuple):
    """One kind of storage, with the answer in its envelope, which is opened after the students have guessed."""

    title: str
    truth: str
    verdict: Verdict
    rule: str
    seen: str
    """Where the fault is visible without fstui."""


KINDS: dict[KindName, LabKind] = {
    "barriers": LabKind(
        "barriers off",
        "An ext4 on a loop device, mounted with barrier=0: a sync writes the data, but requests no flush of the disk's "
        "cache.",
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
        "A tmpfs: each sync succeeds, and a power cut loses everything.",
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
"""Names of volumes. They are assigned at random, so that no name reveals the kind."""


class LabVolume(Base, frozen=True, kw_only=True):
    name: str
    kind: KindName
    opened: bool = False
    """Whether the envelope was opened."""

    @property
    def truth(self) -> LabKind:
        return KINDS[self.kind]


class Lab(Base, frozen=True, kw_only=True):
    """The laboratory as it is recorded in the state directory."""

    run: str
    directory: str
    identity: tuple[int, int]
    """Device and inode of the directory."""
    volumes: tuple[LabVolume, ...] = msgspec.field(default=(), name="storages")
    complete: bool = False
    """Whether all volumes were created and the removal of the laboratory has not begun."""

    def mount_point(self, volume: LabVolume) -> str:
        return str(Path(self.directory, volume.name))

    def find(self, name: str) -> LabVolume:
        for volume in self.volumes:
            if name in (volume.name, self.mount_point(volume)):
                return volume
        names = ", ".join(volume.name for volume in self.volumes)
        raise Refused(f"The lab has no filesystem '{name}'. It has {names}")

    def with_volume(self, volume: LabVolume) -> Lab:
        """Return the laboratory with that volume, which replaces a volume with the same name."""
        by_name = {known_volume.name: known_volume for known_volume in (*self.volumes, volume)}
        return msgspec.structs.replace(self, volumes=tuple(by_name[name] for name in sorted(by_name)))


class NewLab(NamedTuple):
    """A new laboratory, and the kinds that are missing on this host: title → reason."""

    lab: Lab
    missing: dict[str, str]


def make(parent: str, name: str) -> NewLab:
    """Create the laboratory in the new directory ``name`` of ``parent``. Raises Refused, OSError."""
    directory = _check_new_directory(parent, name)
    run = secrets.token_hex(3)
    entry = ledger.write_entry(run, "lab", directory)
    try:
        directory_fd = own_directory.create(directory)
    except OSError as error:
        ledger.delete_entry(entry)
        raise Refused(f"Cannot create {directory}: {error.strerror}") from None
    os.fchmod(directory_fd, 0o755)  # so that students can enter the directory; only root can reach the backing files
    status = os.fstat(directory_fd)
    lab = Lab(run=run, directory=directory, identity=(status.st_dev, status.st_ino))
    _write(lab)
    os.mkdir(_BACKING, 0o700, dir_fd=directory_fd)
    missing: dict[str, str] = {}
    for kind, volume_name in zip(KINDS, random.SystemRandom().sample(NAMES, len(KINDS)), strict=True):
        volume = LabVolume(name=volume_name, kind=kind)
        try:
            _build(lab, volume, directory_fd)
        except (Refused, OSError) as problem:
            missing[volume.truth.title] = str(problem)
        else:
            lab = lab.with_volume(volume)
        _write(lab)
    lab = msgspec.structs.replace(lab, complete=True)
    _write(lab)
    return NewLab(lab, missing)


def current() -> Lab:
    """Return the laboratory of this host. Raises Refused if there is none."""
    lab = _read()
    if lab is None or not any(entry.run == lab.run for entry in entries()):
        raise Refused("There is no lab on this host. Make one with 'fstui lab make DIR'")
    return lab


def is_complete(entry: LedgerEntry) -> bool:
    """Return whether the laboratory can be used: it was created since the last boot, completely, and not deleted."""
    lab = _read() if entry.kind == "lab" and ledger.was_written_since_boot(entry) else None
    if lab is None or lab.run != entry.run or not lab.complete:
        return False
    # 'rm -rf' fails at the mount points and deletes the rest
    return all(Path(lab.directory, name).exists() for name in (own_directory.MARK, _BACKING))


def entries() -> list[LedgerEntry]:
    return [entry for entry in ledger.entries() if entry.kind == "lab"]


def open_envelope(name: str) -> LabVolume:
    lab = current()
    opened = msgspec.structs.replace(lab.find(name), opened=True)
    _write(lab.with_volume(opened))
    return opened


def run(name: str, command: tuple[str, ...], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the command, in the environment of that volume. Raises Refused, OSError."""
    lab = current()
    volume, variables = lab.find(name), dict(environment)
    if volume.kind == "preload":
        variables["LD_PRELOAD"] = _eatmydata_path()
    if volume.kind == "limited":
        kernel.join_cgroup(lab.run)
    try:
        os.execvpe(command[0], command, variables)
    except OSError as error:
        raise Refused(f"Cannot start {command[0]}: {error.strerror}") from None


def take_down(entry: LedgerEntry) -> str:
    """Remove mounts, loop devices and the cgroup. Return the directory, which remains. Raises Refused, OSError."""
    lab = _read()
    lab = lab if lab and lab.run == entry.run else None
    if lab:
        _write(msgspec.structs.replace(lab, complete=False))
    # if a user has renamed the directory, the mount points show its new path
    directories = [entry.what, *{str(Path(point).parent) for point in kernel.mount_points(entry.run)}]
    kernel.remove(entry.run)
    for directory in directories if lab else ():
        with suppress(OSError), ExitStack() as fds:
            directory_fd = _open_directory(fds, directory)
            status = os.fstat(directory_fd)
            if lab and (status.st_dev, status.st_ino) == lab.identity:
                if own_directory.MARK not in os.listdir(directory_fd):  # noqa: PTH208  'rm -rf' may have removed it
                    os.close(os.open(own_directory.MARK, own_directory.CREATE_FLAGS, 0o600, dir_fd=directory_fd))
                return directory
    return entry.what


def forget() -> None:
    (paths.state_dir() / _RECORD_NAME).unlink(missing_ok=True)


async def remove_left_behind(entry: LedgerEntry) -> str | None:
    """Remove the laboratory. Return None, or a sentence with the reason why it could not be removed."""
    return await ledger.remove(entry, _remove(entry))


async def _remove(entry: LedgerEntry) -> None:
    directory = await call_in_child(take_down, entry, timeout_s=TIMEOUT_S, where=entry.what)
    await call_helper("measure.helpers.directory.remove_marked", directory, timeout_s=TIMEOUT_S, where=directory)
    await call_in_child(forget)


def _check_new_directory(parent: str, name: str) -> str:
    """Return the path of the new directory. Raises Refused if no laboratory can be created there."""
    for entry in entries():
        command = "fstui lab remove" if is_complete(entry) else "fstui clean"
        raise Refused(f"There is a lab in {entry.what} already. '{command}' removes it")
    directory = Path(parent, name)
    if os.path.lexists(directory):
        raise Refused(f"{directory} exists. Name a new directory: fstui makes and removes it")
    mount = mount_of_path(str(directory), {mount.mount_point: mount for mount in proc.mounts()})
    if mount is not None and mount.fstype in {"tmpfs", "ramfs"}:
        raise Refused(f"{directory} would be in memory ({mount.fstype}). Name a directory on a disk")
    sizes = os.statvfs(parent)
    if sizes.f_bavail * sizes.f_frsize < MIN_FREE_BYTES:
        raise Refused(f"{parent} is too full: the lab needs {size(MIN_FREE_BYTES)}")
    return str(directory)


def _build(lab: Lab, volume: LabVolume, directory_fd: int) -> None:
    """Mount that volume in the directory of the laboratory. Raises Refused, OSError."""
    with ExitStack() as fds:
        backing_fd = _open_directory(fds, _BACKING, directory_fd)
        os.mkdir(volume.name, dir_fd=directory_fd)
        point_fd = _open_directory(fds, volume.name, directory_fd)
        if volume.kind == "preload":
            _eatmydata_path()
        if volume.kind == "memory":
            kernel.mount(kernel.mark(lab.run), point_fd, "tmpfs", f"size={SIZE_BYTES},mode=1777")
            return
        if volume.kind == "volatile":
            _mount_overlay(lab, point_fd, backing_fd)
            return
        image = kernel.make_ext4(backing_fd, volume.name, SIZE_BYTES)
        fds.callback(os.close, image)
        loop = kernel.attach(image, lab.run)
        fds.callback(os.close, loop.fd)  # by then, the mount holds the device
        if volume.kind == "limited":
            kernel.make_cgroup(lab.run, loop.name, WRITES_PER_S)
        kernel.mount(f"/dev/{loop.name}", point_fd, "ext4", "barrier=0" if volume.kind == "barriers" else "")
        # opened again, because the name now leads to the root of the mounted filesystem
        os.fchmod(_open_directory(fds, volume.name, directory_fd), 0o1777)


def _mount_overlay(lab: Lab, point_fd: int, backing_fd: int) -> None:
    names = ("lower", "upper", "work")
    for name in names:
        os.mkdir(name, dir_fd=backing_fd)
    with ExitStack() as fds:
        os.fchmod(_open_directory(fds, "upper", backing_fd), 0o1777)
    os.fchdir(backing_fd)  # the kernel resolves the relative names from there
    options = ",".join(f"{name}dir={name}" for name in names)
    try:
        kernel.mount(kernel.mark(lab.run), point_fd, "overlay", f"{options},volatile")
    finally:
        os.chdir("/")


def _open_directory(fds: ExitStack, name: str, parent_fd: int | None = None) -> int:
    fd = os.open(name, own_directory.OPEN_FLAGS, dir_fd=parent_fd)
    fds.callback(os.close, fd)
    return fd


def _eatmydata_path() -> str:
    libraries = sorted(path for pattern in _LIBRARIES for path in Path("/").glob(pattern.lstrip("/")))
    if not libraries:
        raise Refused("libeatmydata is missing: apt-get install libeatmydata1")
    return str(libraries[0])


def _write(lab: Lab) -> None:
    files.write_private(paths.state_dir() / _RECORD_NAME, json.dumps(msgspec.to_builtins(lab)).encode() + b"\n")


def _read() -> Lab | None:
    with suppress(OSError, Refused, ValueError, RecursionError):
        data, _ = files.read_regular(paths.state_dir() / _RECORD_NAME)
        return msgspec.convert(json.loads(data), Lab)
    return None
