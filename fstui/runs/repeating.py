"""What a saved run was asked for, to ask for it again."""

from __future__ import annotations

from fstui.model.declaration import NOTHING, Declaration
from fstui.model.run import Run


def declaration_of(run: Run) -> Declaration:
    """What was declared of its storage."""
    media = (node.medium for node in run.target.lowest if node.medium) if run.target else iter(())
    medium = next(media, None)
    if medium is None or not medium.declared:
        return NOTHING
    return Declaration(medium=medium.class_, write_cache=medium.write_cache)
