"""The directory in which a run writes, with everything that a plan needs to know about it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import msgspec

from fstui.model.base import Base
from fstui.model.declaration import NO_DECLARATION, Declaration, with_declaration
from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.model.plan import PlannedStep
from fstui.model.quantities import size
from fstui.model.storage import Reading, Target
from fstui.runs.machine.base import Machine
from fstui.state.workspace import RunDirectory, TargetDirectory
from fstui.storage.layers import kind
from fstui.storage.layers.facts import ATOMIC_WRITE_SIZE
from fstui.storage.layers.readers import with_readings

RESERVE_SHARE = 0.05
"""A run leaves at least this share of the filesystem free."""
SMALL_RUN_BYTES, SMALL_RUN_RESERVE_BYTES = 2 << 20, 64 << 20
"""A run that uses at most SMALL_RUN_BYTES, such as a check, has to leave only SMALL_RUN_RESERVE_BYTES free."""
_FLAGS = {"S": "sync_flag", "C": "nocow_flag"}


class Site(Base, frozen=True, kw_only=True):
    """Where a run writes. The alignment of O_DIRECT is not known yet, because the kernel reports it only for files."""

    directory: TargetDirectory
    raw_target: Target
    """The resolved directory with its stack and space as surveyed, without the user's declaration."""
    cgroup_process: Process | None = None
    """The process in whose I/O cgroup the probes run."""
    declaration: Declaration = NO_DECLARATION

    @property
    def target(self) -> Target:
        return with_declaration(self.raw_target, self.declaration)

    def with_declaration(self, declaration: Declaration) -> Site:
        return msgspec.structs.replace(self, declaration=declaration)

    def with_survey(self, raw_target: Target) -> Site:
        return msgspec.structs.replace(self, raw_target=_with_directory(raw_target, self.directory))

    def check_writable(self) -> None:
        """Raise Refused if a run cannot or must not write there."""
        if self.raw_target.pseudo:
            fstype = self.raw_target.fstype
            raise Refused(f"{self.directory.path} is on {fstype}, which stores no data. Name a directory on a disk.")
        if self.directory.refusal:  # checked after the filesystem, because no permission makes /proc writable
            raise Refused(self.directory.refusal)

    def check(self, peak_bytes: int) -> None:
        """Raise Refused if nothing can be written there, or if the filesystem would become too full."""
        self.check_writable()
        space = self.directory.space
        if space is None:  # the filesystem reports no size
            return
        reserve_bytes = int(RESERVE_SHARE * space.total_bytes)
        alternative = ", or run 'fstui check', which needs the least"
        if peak_bytes <= SMALL_RUN_BYTES:
            reserve_bytes, alternative = min(reserve_bytes, SMALL_RUN_RESERVE_BYTES), ""
        needed_bytes = 2 * peak_bytes + reserve_bytes
        if space.free_bytes < needed_bytes:
            raise Refused(
                f"{self.directory.path} is too full: {size(space.free_bytes)} is free, but {size(needed_bytes)} is "
                f"needed (twice the {size(peak_bytes)} that the run uses, plus a reserve of {size(reserve_bytes)}). "
                f"Free some space{alternative}."
            )


async def look_up(directory: str, machine: Machine) -> Site:
    """Resolve a directory and read its stack, without writing anything. Raises Refused."""
    target_directory = await machine.inspect(directory)
    target = _with_directory(machine.target(target_directory.path), target_directory)
    return Site(directory=target_directory, raw_target=target, cgroup_process=machine.cgroup_process())


def check_alignment(steps: Iterable[PlannedStep], alignment_bytes: int | None, target: Target) -> None:
    """Raise Refused if the O_DIRECT writes of a step do not have the alignment that the directory requires."""
    if target.stack and kind(target.stack[0].kind).accepts_unaligned_direct:
        return
    for step in steps:
        block_bytes = step.settings.direct_block_bytes
        if alignment_bytes and block_bytes and block_bytes % alignment_bytes:
            raise Refused(
                f"step {step.name!r}: O_DIRECT requires a block size that is a multiple of "
                f"{alignment_bytes} bytes here (statx STATX_DIOALIGN), not {block_bytes}. Set a larger block."
            )


def with_file_readings(target: Target, directory: RunDirectory) -> Target:
    """Return the target with the readings that only a file in the run's directory provides."""
    path = f"lsattr {target.path}"
    readings = tuple(Reading(what=_FLAGS[letter], value=letter, path=path) for letter in directory.file_flags)
    if directory.untorn_bytes:
        size = str(directory.untorn_bytes)
        readings += (Reading(what=ATOMIC_WRITE_SIZE, value=size, path="statx STATX_WRITE_ATOMIC"),)
    return msgspec.structs.replace(target, stack=(with_readings(target.stack[0], readings), *target.stack[1:]))


def _with_directory(target: Target, directory: TargetDirectory) -> Target:
    return msgspec.structs.replace(target, path=directory.path, space=directory.space)


def usual_directories(mount_point: str, mounts: Sequence[str]) -> list[str]:
    """Return the working, home and temporary directories on that mount, where an ordinary user can often write."""
    usual_paths = dict.fromkeys([os.environ.get("PWD", ""), os.environ.get("HOME", ""), "/var/tmp", "/tmp"])
    return [path for path in usual_paths if path.startswith("/") and _mount_of(path, mounts) == mount_point]


def _mount_of(path: str, mounts: Sequence[str]) -> str:
    parents = [mount for mount in mounts if f"{path}/".startswith(f"{mount.rstrip('/')}/")]
    return max(parents, key=len, default="")
