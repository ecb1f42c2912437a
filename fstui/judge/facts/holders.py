"""The devices that what was acknowledged lies on, and which of them were seen to keep it.

A device that acknowledges a flush and forgets it counts it like any other. What tells is its own time, by its own
counters: a flush that grows with the data before it, or one that takes the platter's turn. One that was never asked
for such work (a journal or a log of its own, a pool's metadata, a leg that is hidden by a slower one) was not seen, and
neither was what lies behind a host, a bridge, a controller or a network. A drive that is known by its model, or
declared by the user, to lose nothing needs no such witness.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from fstui.judge import words
from fstui.judge.facts.stack import Stack
from fstui.model.host import Host
from fstui.model.storage import MediumClass, Node
from fstui.storage.layers import kind
from fstui.storage.layers.devices.caches import safe_medium
from fstui.storage.layers.devices.disk import is_attached_here
from fstui.storage.layers.handing import Member


class Holders:
    """The lowest devices that hold it, now or once a cache or a log was written back.

    ``at_work``: those whose own time shows that a flush does work there.
    """

    def __init__(self, host: Host, stack: Stack, at_work: frozenset[str]) -> None:
        self._host, self._stack, self._at_work = host, stack, at_work

    @cached_property
    def all(self) -> tuple[Node, ...]:
        """Without spares and read caches, which nothing waits for."""
        reached = set(self._reached(self._stack.nodes[0], set())) if self._stack.nodes else set()
        return tuple(node for node in self._stack.lowest if node.id in reached)

    @cached_property
    def unseen(self) -> tuple[Node, ...]:
        """Those that may have forgotten all they were given, as far as this evidence goes."""
        return tuple(node for node in self.all if not self._is_kept(node))

    @property
    def vouched(self) -> bool:
        """Each was seen to keep it, or is known to: only then may praise be more than low."""
        return bool(self.all) and not self.unseen

    def doubt(self, beside: Iterable[Node] = ()) -> str:
        """The sentence, after a blank, that names those that were not seen. ``beside``: without these, and without
        memory, of which it is known."""
        named = {node.id for node in (*beside, *self._stack.in_memory)}
        left = [node for node in self.unseen if node.id not in named]
        if not left:
            return ""
        if self._host.virtualization:
            return f" What becomes of it beneath {words.devices(left)}, on the host, cannot be seen from here."
        return f" Of {words.devices(left)} it does not show: no work of its own was seen there."

    def _is_kept(self, node: Node) -> bool:
        """Not in a guest, where the work may be that of the host's memory, and the medium another than it seems."""
        at_work = node.id in self._at_work and is_attached_here(node)
        return self._host.virtualization is None and (at_work or safe_medium(node))

    def _reached(self, node: Node, seen: set[str]) -> Iterator[str]:
        if node.id in seen:
            return
        seen.add(node.id)
        yield node.id
        row, below = kind(node.kind), self._stack.children(node)
        roles = tuple(node.below_roles.get(child.id) for child in below)
        for child, role in zip(below, roles, strict=True):
            handed = row.hands(node, Member(child.id, role), roles, self._stack.nodes[0])
            if (handed.flushes, handed.bytes) != ("never", "never"):
                yield from self._reached(child, seen)


def commit_devices(stack: Stack) -> tuple[Node, ...]:
    """Return the lowest devices that a sync waits for; none where it cannot be told whether a cache answers.

    Of a write-back cache that is the fast device, of a ZFS pool its log.
    """
    pending = list(stack.nodes[:1])
    seen: set[str] = set()
    while pending:
        node = pending.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        below = kind(node.kind).waits_for(node, stack.children(node), stack.nodes[0])
        if below is None:
            return ()
        pending.extend(below)
    return tuple(node for node in stack.lowest if node.id in seen)


def media_classes(devices: tuple[Node, ...]) -> frozenset[MediumClass]:
    """The classes of medium among them."""
    return frozenset(node.medium.class_ if node.medium else "unknown" for node in devices)
