"""ZFS pools as layers: the pool, its vdevs, and the disks they stand on with what each is for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from fstui.inventory import zfs
from fstui.inventory.blockdevices import BlockDevices
from fstui.inventory.claims import Claims
from fstui.inventory.files import Tree
from fstui.inventory.roles import Roles
from fstui.inventory.zfs import Pool, Vdev
from fstui.model import Node, Reading, SyncPath

_UNTOLD = "its devices are told by zpool status alone"


class Pools:
    """The pools of one survey."""

    def __init__(self, tree: Tree, devices: BlockDevices, roles: Roles, claims: Claims) -> None:
        self._tree = tree
        self._devices = devices
        self._roles = roles
        self._claims = claims
        self._commits = zfs.Commits(tree)
        self._known = zfs.pools(claims)
        self._properties = zfs.properties(claims)

    def nodes(self, name: str) -> tuple[Node, ...]:
        """The pool, then every vdev that is no block device."""
        pool = self._known.get(name)
        readings = (*self._properties.get(name, ()), *self.parameters)
        if pool is None:
            readings += (self._missing("the pool's devices", f"zpool status -L -P {name}"),)
            return (self._pool(name, (), readings, (), _UNTOLD),)
        groups: list[Node] = []
        data = [vdev for vdev in pool.vdevs if vdev.role is None]
        below = [
            self._vdev(pool, vdev, vdev.role or ("stripe" if len(data) > 1 else None), groups) for vdev in pool.vdevs
        ]
        log = any(vdev.role == "slog" for vdev in pool.vdevs)
        because = (
            "the intent log is on a device of its own (SLOG)" if log else "the intent log is on the pool's own disks"
        )
        return (self._pool(name, tuple(below), readings, pool.state, because), *groups)

    def dataset(self, name: str) -> tuple[Reading, ...]:
        """The dataset's properties, and its intent log's commits so far."""
        told = self._properties.get(name, ())
        if not told:
            told = (self._missing("the dataset's properties", f"zfs get all {name}"),)
        commits = self._commits.reading(name)
        return (*told, commits) if commits is not None else told

    @cached_property
    def parameters(self) -> tuple[Reading, ...]:
        """The module's parameters."""
        return zfs.parameters(self._tree)

    def drops_flushes(self) -> Reading | None:
        """The parameter that keeps flushes from every disk, or from the intent log, where one is set."""
        return next((reading for reading in self.parameters if reading.value == "1"), None)

    def _pool(
        self, name: str, below: tuple[str, ...], readings: tuple[Reading, ...], state: tuple[Reading, ...], because: str
    ) -> Node:
        dropped = self.drops_flushes()
        sync: SyncPath = "stops" if dropped is not None else "passes" if below else "unknown"
        return Node(
            id=f"pool:{name}",
            layer="pool",
            kind="zpool",
            name=name,
            below=below,
            sync=sync,
            because=f"{dropped.what}=1: no flush is sent" if dropped is not None else because,
            state=state,
            readings=readings,
        )

    def _vdev(self, pool: Pool, vdev: Vdev, role: str | None, groups: list[Node]) -> str:
        """The id of a vdev's layer; a group, and a disk that is not here, gets a node of its own."""
        device = self._devices.name_at(vdev.name)
        if device is not None:
            node_id = device
        elif vdev.group is None and vdev.name.startswith("/") and not vdev.name.startswith("/dev/"):
            node_id = f"file:{vdev.name}"
        else:
            node_id = f"vdev:{pool.name}/{vdev.name}"
            groups.append(self._group(pool, vdev, node_id, role, groups))
        if role is not None:
            self._roles.add([(node_id, Reading(what="role", value=role, path=pool.path))])
        return node_id

    def _group(self, pool: Pool, vdev: Vdev, node_id: str, role: str | None, groups: list[Node]) -> Node:
        within = role if role not in (None, "stripe") else "mirror leg" if vdev.group == "mirror" else "stripe"
        below = tuple(self._vdev(pool, child, within, groups) for child in vdev.children)
        return Node(
            id=node_id,
            layer="pool",
            kind=vdev.group or "disk",
            name=vdev.name,
            below=below,
            sync="passes" if below else "unknown",
            because="a flush goes to every disk" if below else "this disk is not here",
            state=tuple(self._trouble(pool, vdev)),
        )

    def _trouble(self, pool: Pool, vdev: Vdev) -> Iterator[Reading]:
        yield from vdev.trouble(pool.path)
        for child in vdev.children:
            for reading in child.trouble(pool.path):
                yield Reading(what=f"{reading.what} of {child.name}", value=reading.value, path=reading.path)

    def _missing(self, what: str, command: str) -> Reading:
        answer = self._claims.get(command)
        why = answer.error if answer is not None and answer.error else "not asked yet"
        return Reading(what="missing", value=f"{what}: {why}", path=command)
