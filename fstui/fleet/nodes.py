"""Which boxes: names, ranges and groups as ``clush`` has them, ``db[1-40],@storage``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fstui.model.errors import Refused

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*")
"""It becomes a word of a command line and the name of a file: no slash, no space, no dash in front."""
WITHOUT = "fstui fleet reaches boxes through ClusterShell, which is not installed here: pip install 'fstui[fleet]'"


def nodes_of(text: str) -> tuple[str, ...]:
    """Their names, in order. Raises Refused."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415  only who asks for a fleet has it
    except ImportError:
        raise Refused(WITHOUT) from None
    try:
        found = tuple(NodeSet(text))
    except NodeSetException as error:
        raise Refused(f"--nodes {text}: {error}") from None
    for name in found:
        if not is_name(name):
            raise Refused(f"--nodes {text}: {name!r} is no name of a box: letters, digits, dots, dashes, user@")
    if not found:
        raise Refused(f"--nodes {text}: there is no box in it")
    return found


def is_name(text: str) -> bool:
    """It may be a box's, or a gateway's."""
    return _NAME.fullmatch(text) is not None


def folded(names: Iterable[str]) -> str:
    """``db[1-40]``; names that cannot be folded stand one after another."""
    each = list(names)
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException  # noqa: PLC0415
    except ImportError:
        return ",".join(each)
    try:
        return str(NodeSet.fromlist(each))
    except NodeSetException:
        return ",".join(each)
