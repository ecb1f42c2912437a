"""bcachefs: ``journal_flush`` (disabled) where an fsync commits nothing (fs/bcachefs/opts.h, fs-io.c).

Else it writes a journal entry that is marked FUA, and has every writable member flushed before it. How many flushes
that makes is not measured, so more than none is asked for at a member's volatile cache.
"""

from __future__ import annotations

from collections.abc import Iterable

from fstui.model.storage import Node, Reading
from fstui.proc import MOUNTINFO, Mount
from fstui.storage.layers.facts import word
from fstui.storage.layers.kinds import Kind, Unsent
from fstui.storage.layers.readers import FilesystemReader

_DISABLED = frozenset({"journal_flush_disabled", "journal_flush_disabled=1"})


class BcachefsReader(FilesystemReader):
    """Reads filesystems of this family."""

    def members(self, mount: Mount) -> tuple[str, ...]:
        """All its devices: the mount names them with colons between."""
        return tuple(filter(None, map(self.sources.names.at, mount.source.split(":"))))

    def more(self, mount: Mount) -> tuple[Reading, ...]:
        return (*super().more(mount), *_journal_flush(mount.super_options))


def _journal_flush(options: Iterable[str]) -> tuple[Reading, ...]:
    off = _DISABLED.intersection(options)
    return (Reading(what="journal_flush", value="disabled", path=MOUNTINFO),) if off else ()


class Bcachefs(Kind, frozen=True, kw_only=True):
    """The row of this family."""

    def unsent(self, node: Node) -> Unsent | None:
        told = word(node, "journal_flush")
        if told is None:
            return None
        return Unsent(
            told=told.reading,
            option="journal_flush_disabled",
            misses="commit",
            means="writes the data and leaves the journal that finds it for a second",
            briefly="commits nothing",
            undo=f"mount -o remount,nojournal_flush_disabled {node.name}, then run fsync-rate there.",
        )


KINDS = (
    Bcachefs(
        name="bcachefs",
        layer="filesystem",
        sync="passes",
        because="an fsync commits the journal",
        copies_on_write=True,
        needs_device=False,
    ),
)
FILESYSTEMS = BcachefsReader
