"""Durable layers and stacks, from which tests change one thing at a time."""

from typing import Any

import msgspec

from fstui.model.storage import Medium, Node, Reading, Target


def readings(**values: str) -> tuple[Reading, ...]:
    return tuple(Reading(what=what, value=value, path=f"/read/{what}") for what, value in values.items())


def filesystem(kind: str = "ext4", name: str = "/srv", *, below: tuple[str, ...] = ("sda",), **values: str) -> Node:
    values = {"barrier": "barrier", "data": "ordered", "journal": "yes", **values} if kind == "ext4" else values
    return Node(id=f"mount:{name}", layer="filesystem", kind=kind, name=name, below=below, readings=readings(**values))


def disk(name: str = "sda", **changes: Any) -> Node:
    honest: dict[str, Any] = {
        "id": name,
        "layer": "block",
        "kind": "disk",
        "name": name,
        "lowest": True,
        "write_cache": "write back",
        "fua": False,
        "counted": True,
        "rotational": False,
        "link": "sata",
        "medium": Medium(),
    }
    return Node(**(honest | changes))


def block(name: str, kind: str, *below: str, **changes: Any) -> Node:
    """Return a layer that passes requests on and has no counters."""
    return Node(id=name, layer="block", kind=kind, name=name, below=below, **changes)


def loop(name: str = "loop0", *, dio: str = "1", **changes: Any) -> Node:
    return disk(
        name,
        kind="loop",
        lowest=False,
        link=None,
        below=("file:/x.img",),
        readings=readings(dio=dio, backing_file="/x.img"),
        **changes,
    )


def target(*stack: Node) -> Target:
    top = stack[0]
    return Target(path=top.name, mount_point=top.name, fstype=top.kind, source="/dev/x", stack=knowing_roles(*stack))


def knowing_roles(*stack: Node) -> tuple[Node, ...]:
    """Set the roles of the layers below each layer, as a survey does. They come from the reading ``role``."""
    role_of = {node.id: role.value for node in stack if (role := node.reading("role"))}
    return tuple(
        msgspec.structs.replace(
            node, below_roles=node.below_roles or {name: role_of[name] for name in node.below if name in role_of}
        )
        for node in stack
    )


def on_disk(top: Node | None = None, *devices: Node) -> Target:
    return target(top or filesystem(), *(devices or (disk(),)))


def on_array(*members: Node, level: str = "raid1") -> Target:
    """Return an ext4 on md0, an array of these devices."""
    names = [node.id for node in members]
    md = block("md0", "md", *names, readings=readings(level=level))
    return target(filesystem(below=("md0",)), md, *members)


def on_pool(*vdevs: Node, **dataset: str) -> Target:
    """Return a ZFS on a pool. A device that is below another one of ``vdevs`` is not directly in the pool."""
    nested = {name for node in vdevs for name in node.below}
    top = [node.id for node in vdevs if node.id not in nested]
    pool = Node(id="pool:tank", layer="pool", kind="zpool", name="tank", below=tuple(top))
    return target(filesystem("zfs", "/tank", below=("pool:tank",), **dataset), pool, *vdevs)


def on_loop(backing: Node | None = None, *, device: Node | None = None, below: Node | None = None) -> Target:
    """Return an ext4 on loop0, whose backing file is on another filesystem, on sda."""
    image = Node(id="file:/x.img", layer="file", kind="file", name="/x.img", below=("mount:/",))
    return target(
        filesystem(below=("loop0",)),
        device or loop(),
        image,
        backing or filesystem(name="/", below=("sda",)),
        below or disk(),
    )
