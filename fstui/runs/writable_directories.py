"""Where on a mount an ordinary user can write."""

from __future__ import annotations

import os
from collections.abc import Sequence


def usual_directories(mount_point: str, mounts: Sequence[str]) -> list[str]:
    """Directories on that mount that an ordinary user can often write into: here, at home, the temporary ones."""
    wanted = [os.environ.get("PWD", ""), os.environ.get("HOME", ""), "/var/tmp", "/tmp"]
    return [path for path in dict.fromkeys(wanted) if path.startswith("/") and _mount_of(path, mounts) == mount_point]


def _mount_of(path: str, mounts: Sequence[str]) -> str:
    above = [mount for mount in mounts if f"{path}/".startswith(f"{mount.rstrip('/')}/")]
    return max(above, key=len, default="")
