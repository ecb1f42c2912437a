"""What layers are to those above them, gathered while the graph is built."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fstui.model import Node, Reading


class Roles:
    """``role`` readings by the id of the layer that has them. One layer may serve two."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[Reading, ...]] = {}

    def add(self, found: Iterable[tuple[str, Reading]]) -> None:
        """Remember roles; the same one is kept once."""
        for node_id, role in found:
            known = self._of.get(node_id, ())
            if role not in known:
                self._of[node_id] = (*known, role)

    def dressed(self, node: Node) -> Node:
        """The layer with its roles among its readings."""
        roles = self._of.get(node.id)
        return msgspec.structs.replace(node, readings=roles + node.readings) if roles else node
