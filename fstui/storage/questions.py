"""What to ask tools about everything that is here. A child runs them (``fstui.measure.helpers.claims``)."""

from __future__ import annotations

import os

from fstui.model.host import Inventory
from fstui.model.storage import Node
from fstui.storage.layers import kind
from fstui.storage.layers.sources.claims import Command, Question


def commands(inventory: Inventory, root: bool | None = None) -> tuple[Command, ...]:
    """Only read-only commands, and root's only for root."""
    root = os.geteuid() == 0 if root is None else root
    questions = dict.fromkeys(_questions(inventory))
    return tuple(question.command for question in questions if root or not question.root)


def _questions(inventory: Inventory) -> list[Question]:
    nodes = {node.id: node for target in inventory.filesystems for node in target.stack}
    nodes.update({node.id: node for node in inventory.unused})
    by_kind: dict[str, list[Node]] = {}
    for node in nodes.values():
        by_kind.setdefault(node.kind, []).append(node)
    sources: dict[str, list[str]] = {}
    for target in inventory.filesystems:
        sources.setdefault(target.fstype, []).append(target.source)
    return [
        question for name, alike in by_kind.items() for question in kind(name).questions(alike, sources.get(name, ()))
    ]
