"""What is requested of the hosts, and how they are reached."""

from __future__ import annotations

from fstui.model.base import Base


class Asked(Base, frozen=True, kw_only=True):
    """One request to all hosts."""

    command: str
    """run | check | watch | list"""
    arguments: tuple[str, ...] = ()
    become: str = ""
    """sudo | doas: become root by this command, which must not ask for a password."""
    installed: str = ""
    """The command of an fstui that the hosts have; empty: carry the file to them."""
    place: str = ""
    """The directory for the file; empty: the user's cache directory, or a temporary one."""
    remove: bool = False
    """Remove the file, and what it unpacked, at the end."""
    ssh: str = "ssh"
    """The program with the user's own options."""
    fanout: int = 64
    """Connections at a time."""
    connect_s: int = 10
    timeout_s: float = 120.0
    """Seconds for one host, from the connection to its document."""
