"""Random stacks of made-up layers of any depth and width, and their description as a survey returns it."""

from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

from fstui.model.storage import Node, Reading, Target
from tests.factories.layered import ASIDE, Filesystem, Layer, Member, claims_fua

Draw = Callable[[int, int], int]


class Recipe(NamedTuple):
    """A kind of layer."""

    kind: str
    does: str
    roles: tuple[str | None, ...]
    """The roles of the layers below."""
    told: Mapping[str, str] = MappingProxyType({})
    on_disks: bool = False
    """Whether all layers below are disks."""
    aside: frozenset[str] = ASIDE


STRIPES: tuple[str | None, ...] = ("stripe", "stripe", "stripe")
MEMBERS: tuple[str | None, ...] = ("mirror leg", "mirror leg")
BESIDE_ITS_ORIGIN = ASIDE | {"origin"}
CACHE = ("cache", "origin")
RECIPES = (
    Recipe("partition", "alone", (None,), on_disks=True),
    Recipe("dm-crypt", "alone", (None,)),
    Recipe("dm-snapshot-origin", "alone", (None,)),
    Recipe("dm-linear", "alone", (None,)),
    Recipe("dm-linear", "one segment", (None, None)),
    Recipe("dm-linear", "stripe", (None, None, None)),
    Recipe("dm-stripe", "stripe", STRIPES[:2]),
    Recipe("dm-mirror", "mirror", ("log", *MEMBERS)),
    Recipe("dm-raid", "mirror", ("metadata", "mirror leg", "metadata", "mirror leg"), {"level": "raid1"}),
    Recipe("dm-raid", "parity", ("metadata", "stripe") * 3, {"level": "raid5"}),
    Recipe("md", "stripe", STRIPES, {"level": "raid0"}),
    Recipe("md", "one segment", STRIPES[:2], {"level": "linear"}),
    Recipe("md", "mirror", MEMBERS, {"level": "raid1"}),
    Recipe("md", "mirror", (*MEMBERS, "mirror leg"), {"level": "raid1"}),
    Recipe("md", "mirror", (*MEMBERS, "spare"), {"level": "raid1"}),
    Recipe("md", "pairs", MEMBERS * 2, {"level": "raid10"}),
    Recipe("md", "pairs", (*MEMBERS, "mirror leg"), {"level": "raid10"}),
    Recipe("md", "parity", STRIPES, {"level": "raid5"}),
    Recipe("md", "parity", (*STRIPES, "stripe"), {"level": "raid6"}),
    Recipe("md", "journal of an array", ("journal", *STRIPES), {"level": "raid5", "journal_mode": "write-through"}),
    Recipe("dm-multipath", "paths", ("path", "path"), {"request_based": "no"}),
    Recipe("dm-multipath", "requests", ("path", "path"), {"request_based": "yes"}, on_disks=True),
    Recipe("nvme-multipath", "paths", ("path", "path", "path"), on_disks=True),
    Recipe("dm-thin-pool", "stripe", ("metadata", "data")),
    Recipe("dm-thin", "alone", ("pool", "origin"), aside=BESIDE_ITS_ORIGIN),
    Recipe("dm-cache", "stripe", ("metadata", *CACHE), {"cache_mode": "writeback"}),
    Recipe("dm-cache", "written through", ("metadata", *CACHE), {"cache_mode": "writethrough"}),
    Recipe("bcache", "stripe", CACHE, {"cache_mode": "writeback"}),
    Recipe("bcache", "written through", CACHE, {"cache_mode": "writethrough"}),
    Recipe("bcache", "alone", CACHE, {"cache_mode": "writearound"}, aside=ASIDE | {"cache"}),
    Recipe("dm-writecache", "written later", CACHE),
    Recipe("dm-snapshot", "alone", ("origin", "cow"), {"persistent": "yes"}, aside=BESIDE_ITS_ORIGIN),
)
ALWAYS_WRITE_BACK = {"md": True, "bcache": True}
"""Kinds that report write back whatever is below, and whether they report FUA. Other kinds report what the layers below
report."""


class Made(NamedTuple):
    """A filesystem and all layers below it."""

    top: Filesystem
    layers: list[Layer]
    files: list[Node]

    @property
    def target(self) -> Target:
        stack = (self.top.node, *(layer.node for layer in reversed(self.layers)), *self.files)
        return Target(path="/srv", mount_point="/srv", fstype=self.top.node.kind, source="/dev/x", stack=stack)


class Maker:
    """Draws stacks: ``draw`` returns a number from the first to the last."""

    def __init__(self, draw: Draw, *, files: bool = True) -> None:
        """``files``: whether loop devices on files are allowed."""
        self._draw, self._files = draw, files
        self._numbers = count()
        self.layers: list[Layer] = []
        self.files: list[Node] = []

    def made(self, depth: int) -> Made:
        """Draw a filesystem with at most ``depth`` layers between it and the disks."""
        kind, roles = FILESYSTEMS[self._draw(0, len(FILESYSTEMS) - 1)]
        below: list[Member] = [(self.layer(depth, alone=len(roles) == 1), role) for role in roles]
        several = {"level": "raid0"} if len(roles) > 1 and kind == "btrfs" else {}
        node = self._filesystem(kind, "/srv", below, several)
        return Made(Filesystem(node, below, in_place=kind != "btrfs"), self.layers, self.files)

    def layer(self, depth: int, *, alone: bool = False, on_disks: bool = False) -> Layer:
        """``alone``: no other device contains any of the data, so a loop device on another filesystem is possible."""
        if depth == 0 or on_disks or not self._draw(0, 5):
            return self._disk()
        if alone and self._files and not self._draw(0, 7):
            return self._loop(depth - 1)
        recipe = RECIPES[self._draw(0, len(RECIPES) - 1)]
        only = alone and len(recipe.roles) == 1
        if recipe.roles[0] == "path":
            below = self._paths(depth - 1, recipe)
        else:
            below = [(self.layer(depth - 1, alone=only, on_disks=recipe.on_disks), role) for role in recipe.roles]
        told = self._queue(recipe.kind, below) | ({"counted": True} if recipe.does == "requests" else {})
        layer = self._add(recipe.kind, recipe.does, below, recipe.told, **told)
        layer.aside = recipe.aside
        return layer

    def _paths(self, depth: int, recipe: Recipe) -> list[Member]:
        """Draw paths whose disks all report the same. Only if they carry bios may another layer be on each disk."""
        disks = [self._disk()]
        disks += [self._disk(disks[0].node) for _ in recipe.roles[1:]]
        if depth and not recipe.on_disks and self._draw(0, 1):
            queues = [self._queue("dm-linear", [(disk, None)]) for disk in disks]
            disks = [
                self._add("dm-linear", "alone", [(disk, None)], {}, **queue)
                for disk, queue in zip(disks, queues, strict=True)
            ]
        return [(disk, "path") for disk in disks]

    def _disk(self, like: Node | None = None) -> Layer:
        cache = ("write back", "write back", "write through")[self._draw(0, 2)]
        fua = bool(self._draw(0, 1)) and cache == "write back"
        kind = "rbd" if not self._draw(0, 9) else "disk"
        if like is not None:
            kind, cache, fua = like.kind, like.write_cache or cache, bool(like.fua)
        return self._add(kind, "disk", [], {}, lowest=True, counted=True, write_cache=cache, fua=fua)

    def _loop(self, depth: int) -> Layer:
        kind = ("ext4", "xfs")[self._draw(0, 1)]
        below: list[Member] = [(self.layer(depth, alone=True), None)]
        number = next(self._numbers)
        node = self._filesystem(kind, f"/deep{number}", below, {})
        holder = Layer(node, "alone", below)
        self.layers.append(holder)
        file = Node(id=f"file:{number}", layer="file", kind="backing-file", name="x.img", below=(node.id,))
        self.files.append(file)
        told = {"dio": "1", "backing_file": "/deep/x.img"}
        device = {"counted": True, "write_cache": "write back", "fua": False}
        return self._add("loop", "loop", [(holder, None)], told, ids=(file.id,), **device)

    def _queue(self, kind: str, below: list[Member]) -> dict[str, Any]:
        if kind == "partition":
            return {}
        if kind in ALWAYS_WRITE_BACK:
            return {"write_cache": "write back", "fua": ALWAYS_WRITE_BACK[kind]}
        back = any(cache_of(layer) == "write back" for layer, _ in below)
        fua = any(claims_fua(layer) for layer, _ in below)
        return {"write_cache": "write back" if back else "write through", "fua": fua}

    def _filesystem(self, kind: str, path: str, below: list[Member], told: Mapping[str, str]) -> Node:
        readings = {"barrier": "barrier", **told, **({"data": "ordered", "journal": "yes"} if kind == "ext4" else {})}
        return _node(f"mount:{path}", "filesystem", kind, below, readings)

    def _add(self, kind: str, does: str, below: list[Member], told: Mapping[str, str], **more: Any) -> Layer:
        node = _node(f"{kind}{next(self._numbers)}", "block", kind, below, told, **more)
        layer = Layer(node, does, below)
        self.layers.append(layer)
        return layer


FILESYSTEMS: tuple[tuple[str, tuple[str | None, ...]], ...] = (
    ("ext4", (None,)), ("xfs", (None,)), ("btrfs", (None,)), ("btrfs", (None, None)),
    ("ext4", (None, "journal")), ("xfs", (None, "log")),
)  # fmt: skip


def cache_of(layer: Layer) -> str | None:
    return layer.node.write_cache or cache_of(layer.below[0][0])


def _node(name: str, layer: Any, kind: str, below: list[Member], told: Mapping[str, str], **more: Any) -> Node:
    ids = more.pop("ids", ()) or tuple(each.node.id for each, _ in below)
    roles = {each.node.id: role for each, role in below if role}
    readings = tuple(Reading(what=what, value=value, path="") for what, value in told.items())
    return Node(id=name, layer=layer, kind=kind, name=name, below=ids, below_roles=roles, readings=readings, **more)
