"""By way of which gateways each box is reached: one chain for all, or a tree as ClusterShell's topology files have it.

Only the file is ClusterShell's. Its tree mode wants ClusterShell on each gateway, and keys there for all boxes behind
it; and it unpickles what a gateway sends, so that whoever holds one could run anything here.
"""

from __future__ import annotations

import configparser
import socket
from collections.abc import Iterable
from pathlib import Path

from ClusterShell.NodeSet import NodeSetException
from ClusterShell.Topology import TopologyError, TopologyNodeGroup, TopologyParser, TopologyTree

from fstui.fleet.nodes import is_name
from fstui.model.errors import Refused


def hops_to(nodes: Iterable[str], gateway: str | None, topology: Path | None) -> dict[str, tuple[str, ...]]:
    """The gateways before each, the first is reached from here; who is reached directly is left out. Raises Refused."""
    if gateway is not None and topology is not None:
        raise Refused("--gateway and --topology: one of them says how boxes are reached")
    if topology is not None:
        tree = _tree(topology)
        found = {node: hops for at, node in enumerate(nodes) if (hops := _above(tree, node, at))}
    else:
        found = dict.fromkeys(nodes, tuple(gateway.split(","))) if gateway is not None else {}
    for name in {name for hops in found.values() for name in hops}:
        if not is_name(name):
            raise Refused(f"{name!r} is no name of a gateway; ports and the like stand in ssh_config")
    return found


def _tree(file: Path) -> TopologyTree:
    here = socket.gethostname().partition(".")[0]
    try:
        with file.open(encoding="utf-8"):
            return TopologyParser(str(file)).tree(here)
    except OSError as error:
        raise Refused(f"--topology {file}: {error.strerror}") from None
    except (TopologyError, NodeSetException, configparser.Error, UnicodeError, AssertionError) as error:
        raise Refused(
            f"--topology {file}: {error}; wanted is '[routes]' and lines as '{here}: gw[1-2]' and 'gw[1-2]: db[1-40]'"
        ) from None


def _above(tree: TopologyTree, node: str, at: int) -> tuple[str, ...]:
    """Of several that lead to it one, in turns; nobody that the file does not know needs any."""
    try:
        group: TopologyNodeGroup = tree.find_nodegroup(node)
    except TopologyError:
        return ()
    hops: list[str] = []
    while group.parent is not None and group.parent.parent is not None:
        group = group.parent
        at %= len(group.nodeset)  # so that each gateway too has one way, whatever is behind it
        hops.append(group.nodeset[at])
    return tuple(reversed(hops))
