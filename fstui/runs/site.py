"""A directory looked up once: all that a plan has to know of the place where it runs."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fstui.model.base import Base
from fstui.model.declaration import NOTHING, Declaration, declared
from fstui.model.errors import Refused
from fstui.model.host import Process
from fstui.model.plan import PlannedStep
from fstui.model.storage import Reading, Target
from fstui.runs.machine.base import Machine, RunDirectory
from fstui.state.workspace import Place, check_open, check_room
from fstui.storage.layers import kind
from fstui.storage.layers.readers import with_readings

_FLAGS = {"S": "sync_flag", "N": "inline_data", "C": "nocow_flag"}
"""The readings that a file's flags become."""


class Site(Base, frozen=True, kw_only=True):
    """Where a run writes. The alignment of O_DIRECT is not among this: the kernel tells it of a file, and none is
    there before a run."""

    place: Place
    read: Target
    """The resolved directory with its stack, as this box reads it, and the space there."""
    like: Process | None = None
    """The process in whose io cgroup the probes run."""
    declaration: Declaration = NOTHING

    @property
    def target(self) -> Target:
        """With what the user declared of it."""
        return declared(self.read, self.declaration)

    def declare(self, declaration: Declaration) -> Site:
        """The same place, with what the user says of it."""
        return msgspec.structs.replace(self, declaration=declaration)

    def now(self, read: Target) -> Site:
        """The same place as it was read again."""
        return msgspec.structs.replace(self, read=_resolved(read, self.place))

    def check_open(self) -> None:
        """Raises Refused where nothing can be written."""
        check_open(self.place, self.read)

    def check(self, room_bytes: int) -> None:
        """Raises Refused where nothing can be written, or not so much."""
        check_open(self.place, self.read)
        check_room(self.place, room_bytes)


async def look_up(directory: str, machine: Machine) -> Site:
    """Resolve the directory and read what it stands on: one child, one survey. Raises Refused; writes nothing."""
    place = await machine.inspect(directory)
    return Site(place=place, read=_resolved(machine.target(place.path), place), like=machine.like())


def check_alignment(steps: Iterable[PlannedStep], wanted_bytes: int | None, target: Target) -> None:
    """Raises Refused where a step's O_DIRECT writes are not of what the directory wants."""
    if target.stack and kind(target.stack[0].kind).takes_unaligned_direct:
        return
    for step in steps:
        block_bytes = step.settings.direct_block_bytes
        if wanted_bytes and block_bytes and block_bytes % wanted_bytes:
            raise Refused(
                f"step {step.name!r}: O_DIRECT here wants blocks of a multiple of {wanted_bytes} bytes "
                f"(statx STATX_DIOALIGN), not {block_bytes}. Set a larger block."
            )


def flagged(target: Target, directory: RunDirectory) -> Target:
    """The target with what only a file there has told."""
    path = f"lsattr {target.path}"
    told = tuple(Reading(what=_FLAGS[letter], value=letter, path=path) for letter in directory.file_flags)
    return msgspec.structs.replace(target, stack=(with_readings(target.stack[0], told), *target.stack[1:]))


def _resolved(read: Target, place: Place) -> Target:
    return msgspec.structs.replace(read, path=place.path, space=place.space)
