"""Software RAID: level, members and what each is for, journal, bitmap and state (Documentation/admin-guide/md.rst)."""

from __future__ import annotations

from collections.abc import Iterator

from fstui.inventory.files import Tree
from fstui.model import Reading, SyncPath

_AT_WORK = frozenset({"resync", "recover", "reshape", "check", "repair"})
_STOPPED = frozenset({"clear", "inactive", "suspended", "readonly", "broken"})
_MIRRORS = frozenset({"raid1", "raid10"})


def readings(tree: Tree, directory: str) -> tuple[Reading, ...]:
    """``level``, ``raid_disks``, ``journal_mode``, ``consistency_policy`` and ``bitmap``."""
    names = ("level", "raid_disks", "journal_mode", "consistency_policy")
    found = [tree.reading(what, f"{directory}/md/{what}") for what in names]
    found.append(tree.reading("bitmap", f"{directory}/md/bitmap/location"))
    return tuple(reading for reading in found if reading is not None)


def roles(tree: Tree, directory: str, slaves: tuple[str, ...]) -> Iterator[tuple[str, Reading]]:
    """What each member is for: journal, spare, mirror leg or stripe."""
    mirrors = tree.word(f"{directory}/md/level") in _MIRRORS
    for slave in slaves:
        path = f"{directory}/md/dev-{slave}/state"
        state = (tree.word(path) or "").split(",")
        role = next((role for role in ("journal", "spare") if role in state), "mirror leg" if mirrors else "stripe")
        yield slave, Reading(what="role", value=role, path=path)


def trouble(tree: Tree, directory: str, slaves: tuple[str, ...]) -> tuple[Reading, ...]:
    """Missing or faulty members, work under way, a stopped array."""
    found = []
    degraded = tree.reading("degraded", f"{directory}/md/degraded")
    if degraded is not None and degraded.value != "0":
        found.append(degraded)
    for slave in slaves:
        path = f"{directory}/md/dev-{slave}/state"
        if "faulty" in (tree.word(path) or "").split(","):
            found.append(Reading(what="faulty", value=slave, path=path))
    for what, bad in (("sync_action", _AT_WORK), ("array_state", _STOPPED)):
        reading = tree.reading(what, f"{directory}/md/{what}")
        if reading is not None and reading.value in bad:
            found.append(reading)
    return tuple(found)


def sync_of(values: dict[str, str]) -> tuple[SyncPath, str]:
    """What becomes of a flush: md hands it to every member; a journal takes it first (drivers/md/raid5-cache.c)."""
    if "journal_mode" in values and "journal" in values.get("consistency_policy", "journal"):
        return "passes", "a flush goes to the journal, then to the members"
    return "passes", "a flush goes to every member"
