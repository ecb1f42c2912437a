"""The inventory of a simulated host: the layers as their drivers report them, even if the reports are false."""

from msgspec.structs import replace

from fstui.model.host import Host, Inventory
from fstui.model.storage import SIMULATED, Medium, Node, Reading, Space, Target
from fstui.simulate.parameters import DiskParameters, SimulationParameters
from fstui.storage.layers import kind
from fstui.storage.layers.kinds import sync_of

TOTAL_BYTES = 1 << 40
PATH_PREFIX = "simulated:"
HOST = Host(hostname="simulated", kernel="6.12.0", cpus=4, memory_bytes=16 << 30, udev=True)


def mount_point(parameters: SimulationParameters) -> str:
    return f"/simulated/{parameters.name}"


def inventory(parameters: SimulationParameters) -> Inventory:
    host = replace(HOST, virtualization=parameters.host.virtualization, cloud=parameters.host.cloud)
    return Inventory(host=host, filesystems=(target(parameters),))


def target(parameters: SimulationParameters) -> Target:
    point, source = mount_point(parameters), f"/dev/{parameters.disk.name}"
    devices = tuple(_disk(device) for device in (parameters.disk, parameters.log, parameters.cache_device) if device)
    middle = _middle_layers(parameters)
    top = _filesystem(parameters, point, (middle[0].id,) if middle else (parameters.disk.name,))
    return Target(
        path=point,
        mount_point=point,
        fstype=parameters.filesystem.kind,
        source="simulated" if parameters.filesystem.kind == "zfs" else source,
        mount_options=("rw",) if parameters.filesystem.barrier else ("rw", "nobarrier"),
        identity=SIMULATED + parameters.name,
        stack=(top, *middle, *devices),
        space=Space(total_bytes=TOTAL_BYTES, free_bytes=TOTAL_BYTES * 9 // 10, block_bytes=4096),
    )


def _filesystem(parameters: SimulationParameters, point: str, below: tuple[str, ...]) -> Node:
    filesystem = parameters.filesystem
    if filesystem.kind == "zfs":
        settings = {"sync": filesystem.sync, "logbias": "latency"}
    else:
        barrier = "barrier" if filesystem.barrier else "nobarrier"
        settings = {"barrier": barrier, "data": filesystem.data, "journal": "yes"}
    readings = tuple(Reading(what=what, value=value, path=f"{PATH_PREFIX}{what}") for what, value in settings.items())
    node = kind(filesystem.kind).node(f"mount:{point}", point, below=below, readings=readings)
    sync, reason = sync_of(node)
    return replace(node, sync=sync, reason=reason)


def _middle_layers(parameters: SimulationParameters) -> tuple[Node, ...]:
    if parameters.filesystem.kind == "zfs":
        below = (parameters.disk.name, *((parameters.log.name,) if parameters.log else ()))
        roles = {parameters.log.name: "slog"} if parameters.log else {}
        place = "on a device of its own (SLOG)" if parameters.log else "on the pool's own disks"
        reason, pool = f"the intent log is {place}", kind("zpool")
        return (pool.node("pool:simulated", "simulated", below=below, below_roles=roles, sync="passes", reason=reason),)
    if parameters.cache_device:
        name = "dm-0" if parameters.cache_device.kind == "dm-cache" else "bcache0"
        mode = Reading(what="cache_mode", value="writeback", path=f"{PATH_PREFIX}cache_mode")
        roles = {parameters.cache_device.name: "cache", parameters.disk.name: "origin"}
        below = (parameters.cache_device.name, parameters.disk.name)
        layer_kind = kind(parameters.cache_device.kind)
        return (layer_kind.node(name, name, below=below, below_roles=roles, readings=(mode,)),)
    return ()


def _disk(parameters: DiskParameters) -> Node:
    rpm = parameters.platter.rpm if parameters.platter and parameters.medium.startswith("hdd") else None
    readings = (Reading(what="grade", value=parameters.grade, path=f"{PATH_PREFIX}model"),) if parameters.grade else ()
    write_back = parameters.write_cache == "write back"
    return Node(
        id=parameters.name,
        layer="block",
        kind="disk",
        name=parameters.name,
        lowest=True,
        model=parameters.model or None,
        link=parameters.link,
        rotational=parameters.rotational,
        write_cache=parameters.write_cache,
        fua=parameters.fua,
        counted=True,
        sync="passes" if write_back else "unknown",
        reason="write cache on" if write_back else "write through: the kernel sends it no flush",
        medium=Medium(
            class_=parameters.medium,
            rpm=round(rpm) if rpm else None,
            write_cache=parameters.medium_cache,
            reason=f"simulated {parameters.model or parameters.medium}",
        ),
        readings=readings,
        size_bytes=TOTAL_BYTES,
    )
