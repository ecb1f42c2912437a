"""The inventory of a simulated host: the layers as their drivers would report them, true or not."""

from __future__ import annotations

from msgspec.structs import replace

from fstui.model.host import Host, Inventory
from fstui.model.storage import SIMULATED, Medium, Node, Reading, Space, Target
from fstui.simulate.parameters import DiskParameters, Simulated
from fstui.storage.layers import kind
from fstui.storage.layers.kinds import sync_of

TOTAL_BYTES = 1 << 40
WHERE = "simulated"
HOST = Host(hostname="simulated", kernel="6.12.0", cpus=4, memory_bytes=16 << 30, udev=True)


def mount_point(made: Simulated) -> str:
    return f"/simulated/{made.name}"


def inventory(made: Simulated) -> Inventory:
    host = replace(HOST, virtualization=made.host.virtualization, cloud=made.host.cloud)
    return Inventory(host=host, filesystems=(target(made),))


def target(made: Simulated) -> Target:
    point, source = mount_point(made), f"/dev/{made.disk.name}"
    devices = tuple(_disk(device) for device in (made.disk, made.log, made.front) if device)
    between = _between(made)
    top = _filesystem(made, point, (between[0].id,) if between else (made.disk.name,))
    return Target(
        path=point,
        mount_point=point,
        fstype=made.filesystem.kind,
        source="simulated" if made.filesystem.kind == "zfs" else source,
        mount_options=("rw",) if made.filesystem.barrier else ("rw", "nobarrier"),
        identity=SIMULATED + made.name,
        stack=(top, *between, *devices),
        space=Space(total_bytes=TOTAL_BYTES, free_bytes=TOTAL_BYTES * 9 // 10, block_bytes=4096),
    )


def _filesystem(made: Simulated, point: str, below: tuple[str, ...]) -> Node:
    filesystem = made.filesystem
    settings = {"zfs": {"sync": filesystem.sync, "logbias": "latency"}}.get(
        filesystem.kind,
        {"barrier": "barrier" if filesystem.barrier else "nobarrier", "data": filesystem.data, "journal": "yes"},
    )
    readings = tuple(Reading(what=what, value=value, path=f"{WHERE}:{what}") for what, value in settings.items())
    node = kind(filesystem.kind).node(f"mount:{point}", point, below=below, readings=readings)
    passes, why = sync_of(node)
    return replace(node, sync=passes, because=why)


def _between(made: Simulated) -> tuple[Node, ...]:
    if made.filesystem.kind == "zfs":
        below = (made.disk.name, *((made.log.name,) if made.log else ()))
        roles = {made.log.name: "slog"} if made.log else {}
        where = "on a device of its own (SLOG)" if made.log else "on the pool's own disks"
        because = f"the intent log is {where}"
        return (
            kind("zpool").node(
                "pool:simulated", "simulated", below=below, below_roles=roles, sync="passes", because=because
            ),
        )
    if made.front:
        name = "dm-0" if made.front.kind == "dm-cache" else "bcache0"
        mode = Reading(what="cache_mode", value="writeback", path=f"{WHERE}:cache_mode")
        roles = {made.front.name: "cache", made.disk.name: "origin"}
        below = (made.front.name, made.disk.name)
        row = kind(made.front.kind)
        return (row.node(name, name, below=below, below_roles=roles, readings=(mode,)),)
    return ()


def _disk(made: DiskParameters) -> Node:
    rpm = made.platter.rpm if made.platter and made.medium.startswith("hdd") else None
    readings = (Reading(what="grade", value=made.grade, path=f"{WHERE}:model"),) if made.grade else ()
    return Node(
        id=made.name,
        layer="block",
        kind="disk",
        name=made.name,
        lowest=True,
        model=made.model or None,
        link=made.link,
        rotational=made.rotational,
        write_cache=made.write_cache,
        fua=made.fua,
        counted=True,
        sync="passes" if made.write_cache == "write back" else "unknown",
        because="write cache on" if made.write_cache == "write back" else "write through: the kernel sends it no flush",
        medium=Medium(
            class_=made.medium,
            rpm=round(rpm) if rpm else None,
            write_cache=made.medium_cache,
            because=f"simulated {made.model or made.medium}",
        ),
        readings=readings,
        size_bytes=TOTAL_BYTES,
    )
