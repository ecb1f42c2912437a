"""Has anything been mounted, unmounted, plugged or unplugged since?"""

from __future__ import annotations

import hashlib
from pathlib import Path

from fstui.inventory.files import Tree
from fstui.inventory.mounts import MOUNTINFO

_LIMIT_BYTES = 64 << 20


def fingerprint(root: Path = Path("/")) -> str:
    """A hash of the mounts and of the names of the block devices: two small reads."""
    tree = Tree(root)
    digest = hashlib.sha256(tree.data(MOUNTINFO, _LIMIT_BYTES) or b"")
    for name in tree.names("/sys/class/block"):
        digest.update(b"\0" + name.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def changed(before: str, root: Path = Path("/")) -> bool:
    """The fingerprint is no longer what it was: time for a new survey."""
    return fingerprint(root) != before
