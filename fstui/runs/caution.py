"""Reasons not to start a run: a busy device, little space or memory, another run. Interfaces ask for confirmation."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fstui import proc
from fstui.model.counters import Idle
from fstui.model.errors import Refused
from fstui.model.quantities import percent, size
from fstui.model.storage import Target
from fstui.runs.session import Session
from fstui.runs.site import Site
from fstui.state import ledger
from fstui.state.paths import call_in_state_dir

WATCH_DURATION_S = 1.0
TOO_BUSY_SHARE = 0.9
"""If a device is busy for a larger share of the time, any I/O of fstui delays other programs."""
BUSY_SHARE = 0.5
"""If a device is busy for at least this share of the time, a run that writes HEAVY_RUN_BYTES delays other programs."""
HEAVY_RUN_BYTES = 1 << 30
LIGHT_RUN_BYTES = 8_000_000
"""A run that writes at most this much (such as a check) is allowed on a busy device or a nearly full filesystem."""
LITTLE_SPACE_SHARE, LITTLE_SPACE_BYTES = 0.1, 1 << 30
"""The free space during a run is low if it is less than both a tenth of the filesystem and 1 GiB."""
LITTLE_MEMORY_BYTES = 128 << 20
"""fstui and its children need about this much. With less, the kernel may kill a process."""
YES_VARIABLE = "FSTUI_YES"


async def watch_idle(session: Session, targets: Iterable[Target]) -> Idle:
    """Return the activity of the devices during a second in which fstui does nothing."""
    from fstui.runs.activity import IdleWatch  # noqa: PLC0415  needed only before a run

    nodes = {node.id: node for target in targets for node in target.stack}
    watch = IdleWatch(session.machine, tuple(nodes.values()))
    if nodes:
        await watch.watch(WATCH_DURATION_S, asyncio.Event())
    return watch.idle


async def check(
    session: Session, site: Site, peak_bytes: int, bytes_to_write: int = 0
) -> tuple[Idle | None, tuple[str, ...]]:
    """Watch the devices for a second. Return their activity, and the reasons not to run on them.

    Return (None, ()) in a simulation, and if FSTUI_YES confirms every run.
    """
    if session.simulated or is_confirmed():
        return None, ()
    idle = await watch_idle(session, [site.raw_target])
    # 0 for a large run: unlike the app, the command line does not ask for confirmation because of its size
    light_bytes = bytes_to_write if bytes_to_write <= LIGHT_RUN_BYTES else 0
    return idle, concerns(session, site, idle.busy_shares, peak_bytes, light_bytes)


def concerns(
    session: Session, site: Site, busy_shares: Mapping[str, float], peak_bytes: int, bytes_to_write: int = 0
) -> tuple[str, ...]:
    """Return reasons not to run at this site, with measured values; none in a simulation or with FSTUI_YES."""
    if session.simulated or is_confirmed():
        return ()
    if 0 < bytes_to_write <= LIGHT_RUN_BYTES:
        return tuple(_memory_concerns())
    device_concerns = _device_concerns(site.raw_target, busy_shares, bytes_to_write)
    return (*device_concerns, *_space_concerns(site, peak_bytes), *_memory_concerns())


def is_confirmed() -> bool:
    """Return whether the environment confirms every run (``FSTUI_YES=1``)."""
    return os.environ.get(YES_VARIABLE, "") not in ("", "0")


def _device_concerns(target: Target, busy_shares: Mapping[str, float], bytes_to_write: int) -> Iterator[str]:
    share, device = max(((busy_shares.get(node.id, 0.0), node.id) for node in target.stack), default=(0.0, ""))
    is_heavy = bytes_to_write >= HEAVY_RUN_BYTES and share >= BUSY_SHARE
    if share > TOO_BUSY_SHARE or is_heavy:
        yield (
            f"its device {device} was {percent(min(share, 1))} busy in the last second, so this run and other programs "
            "will slow each other down"
        )


def _space_concerns(site: Site, peak_bytes: int) -> Iterator[str]:
    space = site.directory.space
    if space is None:
        return
    left_bytes = space.free_bytes - peak_bytes  # if it is below 0, the plan is refused
    if 0 <= left_bytes < LITTLE_SPACE_SHARE * space.total_bytes and left_bytes < LITTLE_SPACE_BYTES:
        yield (
            f"only {size(left_bytes)} of the filesystem's {size(space.total_bytes)} will remain free during the run, "
            "so other programs may run out of space"
        )


def _memory_concerns() -> Iterator[str]:
    available_bytes = proc.meminfo().get("MemAvailable")
    if available_bytes is not None and available_bytes < LITTLE_MEMORY_BYTES:
        yield f"only {size(available_bytes)} of memory is available, so the kernel may kill a process"


async def other_runs(session: Session, site: Site) -> list[str]:
    """Return a sentence for each other run on this filesystem or its devices; none if the ledger cannot be read."""
    try:
        entries = await call_in_state_dir(ledger.live_entries)
    except (OSError, Refused):
        return []
    return [
        f"fstui is already running there: {entry.what}, process {entry.pid}. This distorts the results of both runs"
        for entry in entries
        if entry.kind == "directory" and _shares_storage(session, entry, site.raw_target)
    ]


def _shares_storage(session: Session, entry: ledger.LedgerEntry, target: Target) -> bool:
    try:
        other = session.machine.target(str(Path(entry.what).parent))
    except Refused:
        return False
    is_same = other.mount_point == target.mount_point
    return is_same or bool(_block_devices(other) & _block_devices(target))


def _block_devices(target: Target) -> set[str]:
    return {node.id for node in target.stack if node.layer == "block"}
