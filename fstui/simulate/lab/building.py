"""A laboratory made, one storage after another; and a plug pulled. Each step may hang: a child takes them."""

from __future__ import annotations

import os
import random
import secrets
from pathlib import Path
from typing import NamedTuple

import msgspec

from fstui.measure.wire import held
from fstui.model.errors import Refused
from fstui.model.quantities import size
from fstui.simulate.lab import kernel, record
from fstui.simulate.lab.kinds import HOLD_S, KINDS, NAMES, WRITES_PER_S
from fstui.simulate.lab.record import Lab, Storage
from fstui.state import ledger
from fstui.storage.layers.sources import mounts
from fstui.storage.layers.sources.files import Tree

SIZE_BYTES = 256 << 20
"""Of each; its file is sparse."""
ROOM_BYTES = 2 << 30
_BACK = "back"
"""Beside the mount points: files and mounts that they stand on, which nobody has to look into."""
_IN_MEMORY = ("tmpfs", "ramfs")


class Made(NamedTuple):
    """What was made, and what this kernel has not: kind → why."""

    lab: Lab
    missing: dict[str, str]


def make(directory: str) -> Made:
    """All that this kernel can make, in a new directory. Raises Refused, OSError."""
    place = _new(directory)
    run = f"lab-{secrets.token_hex(3)}"
    entry = ledger.enter(run, "lab", place)
    try:
        fd = held.make(place)
    except OSError as error:
        ledger.settled(entry)
        raise Refused(f"{place}: cannot be made: {error.strerror}") from None
    os.fchmod(fd, 0o755)  # a class walks through it; what it stands on is root's
    os.close(fd)
    lab = Lab(run=run, directory=place)
    record.write(lab)
    Path(place, _BACK).mkdir(0o700)
    missing: dict[str, str] = {}
    for kind, name in zip(KINDS, random.SystemRandom().sample(NAMES, len(KINDS)), strict=True):
        try:
            lab = lab.with_storage(_built(lab, Storage(name=name, kind=kind)))
        except Refused as refusal:
            missing[KINDS[kind].title] = str(refusal)
        record.write(lab)
    lab = msgspec.structs.replace(lab, whole=True)
    record.write(lab)
    return Made(lab, missing)


def pull_plug(name: str) -> Storage:
    """The power of that one's disk goes, now, and comes back; it is mounted again. Raises Refused."""
    lab = record.standing()
    storage = lab.named(name)
    if not storage.truth.served:
        raise Refused(f"{storage.name} has no plug of its own: it stands on this box's own disk or memory")
    kernel.pull_plug(storage.pid, storage.started)
    point, back = Path(lab.place(storage)), _back(lab, storage)
    if kernel.is_mounted(str(point)):
        kernel.unmount(str(point))
    for device in kernel.loops_in(str(back)):
        kernel.detach(device)
    if kernel.is_mounted(str(back / "disk")):
        kernel.unmount(str(back / "disk"), lazily=True)
    again = _served(storage, back)
    record.write(lab.with_storage(again))
    kernel.mount(f"/dev/{kernel.attach(back / 'disk', direct_io=True)}", point, "ext4")
    return again


def open_envelope(name: str) -> Storage:
    """The storage whose truth may be told. Raises Refused, OSError."""
    lab = record.standing()
    opened = msgspec.structs.replace(lab.named(name), opened=True)
    record.write(lab.with_storage(opened))
    return opened


def take_down(entry: ledger.Entry) -> None:
    """All but its files: mounts, loop devices and processes. Raises Refused, OSError."""
    lab = record.read(entry)
    if lab is None:
        if Path(entry.what, record.FILE).exists():
            raise Refused("another laboratory stands there")
        return
    record.write(msgspec.structs.replace(lab, whole=False))
    for storage in lab.storages:
        if kernel.is_mounted(lab.place(storage)):
            kernel.unmount(lab.place(storage))
        kernel.pull_plug(storage.pid, storage.started)
    kernel.take_away(entry.what)


def _new(directory: str) -> str:
    """Raises Refused."""
    if os.geteuid():
        raise Refused("fstui lab needs root: it mounts filesystems and attaches loop devices. sudo fstui lab make DIR")
    for entry in record.entries():
        way = "fstui lab remove" if record.stands(entry) else "fstui clean"
        raise Refused(f"a laboratory is in {entry.what} already, and one is enough for a class: {way} takes it away")
    path = Path(directory)
    try:
        place = path.parent.resolve(strict=True) / path.name
        room = os.statvfs(place.parent)
    except OSError as error:
        raise Refused(f"{path.parent}: {error.strerror}. Name a new directory in one that exists.") from None
    if os.path.lexists(place):
        raise Refused(f"{place} is there already: name a new directory, which fstui makes and takes away")
    by_point = {mount.mount_point: mount for mount in mounts.read_mounts(Tree(Path("/")))}
    below = mounts.holder(str(place), by_point)
    if below is not None and below.fstype in _IN_MEMORY:
        raise Refused(f"{place} would be in memory ({below.fstype}), and so would the honest one: name one on a disk")
    if room.f_bavail * room.f_frsize < ROOM_BYTES:
        raise Refused(f"{place.parent} is too full: {size(ROOM_BYTES)} are wanted")
    return str(place)


def _back(lab: Lab, storage: Storage) -> Path:
    return Path(lab.directory, _BACK, storage.name)


def _built(lab: Lab, storage: Storage) -> Storage:
    """Mounted. Raises Refused."""
    if absent := [need for need in storage.truth.needs if not kernel.has(need)]:
        raise Refused(f"this kernel has no {absent[0]}")
    point, back = Path(lab.place(storage)), _back(lab, storage)
    point.mkdir()
    back.mkdir(0o700)
    if storage.kind == "volatile":
        _overlay(point, back)
        return storage
    if storage.kind == "memory":
        kernel.mount("tmpfs", back, "tmpfs", f"size={SIZE_BYTES + (16 << 20)},mode=700")
    kernel.make_image(back / "platter", SIZE_BYTES)
    disk = "platter"
    if storage.truth.served:
        storage, disk = _served(storage, back), "disk"
        record.write(lab.with_storage(storage))
    device = kernel.attach(back / disk, direct_io=storage.kind != "memory")
    kernel.mount(f"/dev/{device}", point, "ext4", "barrier=0" if storage.kind == "barriers" else "")
    point.chmod(0o1777)
    if storage.kind == "override":
        kernel.set_cache(device, kernel.WRITE_THROUGH)
    return storage


def _served(storage: Storage, back: Path) -> Storage:
    hold_s, writes_per_s = (HOLD_S, 0) if storage.kind == "forgetful" else (0, WRITES_PER_S)
    pid = kernel.serve(back / "disk", back / "platter", hold_s, writes_per_s)
    return msgspec.structs.replace(storage, pid=pid, started=ledger.start_time(pid) or 0)


def _overlay(point: Path, back: Path) -> None:
    layers: dict[str, Path] = {name: back / name for name in ("lower", "upper", "work")}
    for layer in layers.values():
        layer.mkdir()
    layers["upper"].chmod(0o1777)
    stated = ",".join(f"{name}dir={path}" for name, path in layers.items())
    kernel.mount("overlay", point, "overlay", f"{stated},volatile")
