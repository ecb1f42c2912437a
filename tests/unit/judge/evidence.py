"""Made-up boxes and steps for the rules: honest ones, to be spoilt one thing at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from fstui.judge import judge
from fstui.model import (
    DeviceCounters,
    Evidence,
    Finding,
    Host,
    Idle,
    Judgement,
    Medium,
    Node,
    Process,
    Reading,
    Step,
    SyncWrites,
    Target,
    Writer,
)

HONEST_PROCESS = Process(pipe_fsync_fails=True, dsync_flag_kept=True, libc_sync_ns=101_000, raw_sync_ns=99_000)
GUEST = Host(virtualization="kvm")
METAL = Host()


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
    """A layer that passes on: it does not count."""
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
    return Target(path=top.name, mount_point=top.name, fstype=top.kind, source="/dev/x", stack=stack)


def on_disk(top: Node | None = None, *devices: Node) -> Target:
    """A filesystem straight on a disk."""
    return target(top or filesystem(), *(devices or (disk(),)))


def on_loop(backing: Node | None = None, *, device: Node | None = None, below: Node | None = None) -> Target:
    """ext4 on loop0, whose backing file is on another filesystem, on sda."""
    image = Node(id="file:/x.img", layer="file", kind="file", name="/x.img", below=("mount:/",))
    return target(
        filesystem(below=("loop0",)),
        device or loop(),
        image,
        backing or filesystem(name="/", below=("sda",)),
        below or disk(),
    )


def counted(device: str, flushes: int | None, written_bytes: int | None) -> DeviceCounters:
    return DeviceCounters(device=device, flushes=flushes, writes=flushes, written_bytes=written_bytes)


def step(
    name: str = "fdatasync",
    *,
    ops: int = 2000,
    rate: float = 2000.0,
    flushes: Mapping[str, float | None] | float | None = 1.0,
    share: Mapping[str, float | None] | float | None = 1.0,
    status: str = "finished",
    device: str = "sda",
    changes: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Step:
    """A step of 16 KiB overwrites: flushes per op and the share of the bytes that each device received."""
    asked = SyncWrites(block_bytes=16384, file_bytes=1 << 20, **settings)
    done = ops * asked.block_bytes
    per_op = flushes if isinstance(flushes, Mapping) else {device: flushes}
    shares = share if isinstance(share, Mapping) else dict.fromkeys(per_op, share)
    fields: dict[str, Any] = {
        "name": name,
        "probe": "sync_writes",
        "settings": msgspec.to_builtins(asked),
        "status": status,
        "ops": ops,
        "syncs": ops // asked.sync_every if asked.sync != "none" or set(asked.open_flags) & {"dsync", "sync"} else 0,
        "bytes": done,
        "writers": asked.writers,
        "elapsed_s": ops / rate,
        "rate_per_s": rate,
        "counters": tuple(
            counted(name, None if per is None else round(per * ops), _part(shares.get(name), done))
            for name, per in per_op.items()
        ),
    }
    return Step(**(fields | dict(changes or {})))


def _part(share: float | None, done: int) -> int | None:
    return None if share is None else round(share * done)


def quiet(*devices: str) -> Idle:
    """Nobody wrote while fstui was idle."""
    return Idle(elapsed_s=2.0, counters=tuple(counted(device, 0, 0) for device in devices or ("sda", "sdb", "loop0")))


def busy(device: str, flushes_per_s: int, *names: str) -> Idle:
    return Idle(
        elapsed_s=2.0,
        counters=(counted(device, flushes_per_s * 2, flushes_per_s * 8192),),
        writers=tuple(Writer(pid=700 + i, name=name, written_bytes=4096) for i, name in enumerate(names)),
    )


def evidence(where: Target | None = None, *steps: Step, **fields: Any) -> Evidence:
    """Steps measured on an honest, quiet box."""
    given = {"target": where or on_disk(), "process": HONEST_PROCESS, "host": METAL, "idle": quiet(), **fields}
    return Evidence(steps=steps, **given)


def verdict(where: Target | None = None, *steps: Step, **fields: Any) -> Judgement:
    return judge(evidence(where, *steps, **fields))


def finding(judgement: Judgement, rule: str) -> Finding:
    """The only finding of that rule. Fails where there is none, or more than one."""
    (found,) = (finding for finding in judgement.findings if finding.rule == rule)
    return found


def rules(judgement: Judgement) -> set[str]:
    return {finding.rule for finding in judgement.findings}
