"""The platters beneath, where an answer can only come from them: written in place, with no cache between."""

from __future__ import annotations

from typing import NamedTuple

from fstui.inventory.media import is_virtual
from fstui.judge.layers import filesystems
from fstui.judge.limits import ASSUMED_RPM, rewrites_per_s, rpm
from fstui.judge.override import explained
from fstui.judge.owed import IN_PLACE, journals_data
from fstui.model import Evidence, Host, Node
from fstui.quantities import plain

_MAY_CACHE = frozenset({"bcache", "dm-cache", "dm-writecache", "dm-vdo", "zvol", "dm"})
"""Plain ``dm``: nothing tells which target it is."""
_HONEST_LINKS = frozenset({"sata", "sas"})
"""A USB bridge says rotational=1 of any drive behind it, and so do many network volumes."""


class Rotation(NamedTuple):
    """The platters beneath, and who says so."""

    rpm: int
    devices: tuple[Node, ...]
    because: tuple[str, ...]
    assumed: bool
    no_cache: bool
    """Every device has no volatile write cache: read, or declared by the user."""

    @property
    def per_s(self) -> float:
        return rewrites_per_s(self.rpm)

    @property
    def turns(self) -> str:
        return f"{'at most ' if self.assumed else ''}{self.rpm} rpm"


def rotation(evidence: Evidence) -> Rotation | None:
    """The platters, known or declared; None where something else may answer, or the syncs are known not to arrive.

    rotational=1 of a virtual disk means nothing: virtio says so on any host.
    """
    target = evidence.target
    if target is None or not target.lowest or not evidence.steps or explained(evidence):
        return None
    if any(
        node.kind in _MAY_CACHE or node.layer in {"pool", "remote", "memory"} or _zoned(node) for node in target.stack
    ):
        return None
    written_in_place = all(
        node.kind in IN_PLACE and not journals_data(node) for node in filesystems(target) if node.kind != "overlay"
    )
    speeds = [_speed(node, evidence.host) for node in target.lowest]
    known = [speed for speed in speeds if speed is not None]
    if not written_in_place or len(known) < len(speeds):
        return None
    media = [node.medium for node in target.lowest]
    return Rotation(
        rpm=max(turns for turns, _ in known),
        devices=target.lowest,
        because=tuple(because for _, because in known),
        assumed=any(node.medium is None or rpm(node.medium) is None for node in target.lowest),
        no_cache=all(medium is not None and medium.write_cache == "none" for medium in media),
    )


def _speed(node: Node, host: Host) -> tuple[int, str] | None:
    medium = node.medium
    if medium is not None and medium.write_cache == "plp":
        return None  # a protected cache answers, not the platter
    turns = rpm(medium) if medium else None
    if medium and turns:
        who = "declared by you" if medium.declared else medium.because or "read"
        return turns, plain(f"{node.id} medium, write cache: {medium.class_}, {medium.write_cache}: {who}")
    real = host.virtualization is None and node.link in _HONEST_LINKS and not is_virtual(node)
    if real and node.rotational and (medium is None or medium.class_ == "unknown"):
        return ASSUMED_RPM, plain(
            f"{node.id}: a rotating {node.link} disk that does not state its revolutions: {ASSUMED_RPM} rpm assumed"
        )
    return None


def _zoned(node: Node) -> bool:
    zoned = node.reading("zoned")
    return zoned is not None and zoned.value != "none"
