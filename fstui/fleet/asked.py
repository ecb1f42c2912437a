"""What is asked of the boxes, and how they are reached."""

from __future__ import annotations

from fstui.model.base import Base


class Asked(Base, frozen=True, kw_only=True):
    """One question to all of them."""

    command: str
    """run | check | watch | list"""
    arguments: tuple[str, ...] = ()
    """What follows it on each box."""
    directory: str = ""
    """Where is written: boxes that share what it stands on take turns. Empty where nothing is."""
    become: str = ""
    """sudo | doas: as root by that, which must not ask for a password."""
    installed: str = ""
    """fstui is there already, by this command; empty: the file is carried there."""
    place: str = ""
    """The directory there that the file goes to; empty: a cache directory, ``/var/tmp``, ``/tmp``."""
    remove: bool = False
    """What was carried there, and what it has unpacked, goes again."""
    ssh: str = "ssh"
    """The program with options of one's own."""
    hops: dict[str, tuple[str, ...]] = {}
    """By box: the gateways before it."""
    fanout: int = 64
    """So many boxes at a time."""
    at_once: int = 1
    """Of boxes that share a device, so many."""
    connect_s: int = 10
    timeout_s: float = 120.0
    """So long one box may take, from the connection to its document."""
