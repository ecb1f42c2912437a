"""The io limits of a control group and of those above it: io.max of cgroup v2, blkio.throttle of v1.

Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/blkio-controller.rst.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fstui.model.storage import Reading
from fstui.proc import Mount
from fstui.storage.layers.sources import mounts
from fstui.storage.layers.sources.files import Tree

_V1_FILES = ("read_bps", "write_bps", "read_iops", "write_iops")
_DEVICE = re.compile(r"\d{1,7}:\d{1,7}")


def path_of(text: str) -> str | None:
    """The path whose io limits hold, from /proc/PID/cgroup: blkio's (v1), else that of the unified hierarchy."""
    by_controller = _by_controller(text)
    return by_controller.get("blkio", by_controller.get(""))


def io_limits(tree: Tree, text: str) -> tuple[Reading, ...]:
    """Every limit that holds for a process with that /proc/PID/cgroup: ``253:0 wiops`` = ``100``."""
    by_controller = _by_controller(text)
    found = []
    for mount in mounts.read_mounts(tree):
        if mount.fstype == "cgroup2" and "" in by_controller:
            found += [limit for home in _homes(mount, by_controller[""]) for limit in _v2(tree, home)]
        elif mount.fstype == "cgroup" and "blkio" in mount.super_options and "blkio" in by_controller:
            found += [limit for home in _homes(mount, by_controller["blkio"]) for limit in _v1(tree, home)]
    return tuple(dict.fromkeys(found))


def members_file(tree: Tree, text: str) -> str | None:
    """The ``cgroup.procs`` of the group whose io limits hold for a process with that /proc/PID/cgroup."""
    by_controller = _by_controller(text)
    for mount in mounts.read_mounts(tree):
        v1 = mount.fstype == "cgroup" and "blkio" in mount.super_options and "blkio" in by_controller
        v2 = mount.fstype == "cgroup2" and "" in by_controller and "blkio" not in by_controller
        if v1 or v2:
            path = by_controller["blkio" if v1 else ""]
            return f"{next(_homes(mount, path), mount.mount_point)}/cgroup.procs"
    return None


def _by_controller(text: str) -> dict[str, str]:
    lines = [line.split(":", 2) for line in text.split("\n") if line.count(":") >= 2]
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}


def _homes(mount: Mount, path: str) -> Iterator[str]:
    """The group's directory and those above it, up to the mount. A limit above holds as well."""
    inside = path.removeprefix(mount.root) if mount.root != "/" else path
    while inside not in ("", "/"):
        yield f"{mount.mount_point}{'' if inside.startswith('/') else '/'}{inside}"
        inside = inside.rpartition("/")[0]


def _v2(tree: Tree, home: str) -> Iterator[Reading]:
    path = f"{home}/io.max"
    for line in (tree.text(path) or "").split("\n"):
        device, *limits = line.split(" ")
        for limit in limits if _DEVICE.fullmatch(device) else ():
            what, _, value = limit.partition("=")
            if value.isdecimal():  # not "max"
                yield Reading(what=f"{device} {what}", value=value, path=path)


def _v1(tree: Tree, home: str) -> Iterator[Reading]:
    for what in _V1_FILES:
        path = f"{home}/blkio.throttle.{what}_device"
        for line in (tree.text(path) or "").split("\n"):
            device, _, value = line.partition(" ")
            if _DEVICE.fullmatch(device) and value.isdecimal():
                yield Reading(what=f"{device} {what}", value=value, path=path)
