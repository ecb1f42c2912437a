"""Which addresses are this box's own, as its network namespace has them (proc_pid_net(5))."""

from __future__ import annotations

import ipaddress
import re

from fstui.storage.layers.sources.files import Tree

FOUR, SIX = "/proc/net/fib_trie", "/proc/net/if_inet6"
_LIMIT_BYTES = 1 << 20
"""A read gives a page of them."""
_LOCAL = re.compile(r"\|-- ([0-9.]+)\n\s+/32 host LOCAL")


def is_own(tree: Tree, address: str) -> bool:
    """What is sent to that numeric address never leaves the box."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if parsed.is_loopback:
        return True
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed) in _LOCAL.findall(tree.text(FOUR, _LIMIT_BYTES) or "")
    return parsed.packed.hex() in (tree.text(SIX, _LIMIT_BYTES) or "").split()
