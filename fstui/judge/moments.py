"""What programs and devices did during one column of the charts: the sums of its records."""

from collections.abc import Sequence
from itertools import chain

from msgspec.structs import astuple, replace

from fstui.judge.incidents import transfers
from fstui.model.recording import DeviceSecond, RecordedWait, Second, Window

MAX_ROWS = 24


def sum_of_seconds(seconds: Sequence[Second]) -> Second | None:
    """Return one record for all seconds, with the highest numbers of requests in flight and of bytes in memory."""
    if not seconds:
        return None
    devices: dict[str, DeviceSecond] = {}
    for device in chain.from_iterable(second.devices for second in seconds):
        earlier = devices.get(device.device)
        devices[device.device] = _sum_of_two(earlier, device) if earlier else device
    pressures = zip(*(second.pressure_ms for second in seconds), strict=True)
    return replace(
        seconds[-1],
        elapsed_s=sum(second.elapsed_s for second in seconds),
        pressure_ms=tuple(None if None in values else sum(values) for values in pressures),
        memory_kib=max((second.memory_kib for second in seconds), key=sum),
        devices=tuple(devices.values()),
    )


def _sum_of_two(earlier: DeviceSecond, later: DeviceSecond) -> DeviceSecond:
    sums = map(sum, zip(astuple(earlier)[1:], astuple(later)[1:], strict=True))
    return replace(DeviceSecond(later.device, *sums), in_flight=max(earlier.in_flight, later.in_flight))


def sum_of_windows(windows: Sequence[Window]) -> Window | None:
    """Return one record for all windows. The median sync of several windows is not known."""
    if len(windows) < 2:
        return windows[0] if windows else None
    rows: dict[tuple[str, bool, str, int, str], RecordedWait] = {}
    for wait in chain.from_iterable(window.waits for window in windows):
        key = (wait.program, wait.kernel, wait.file, wait.inode, wait.device)
        earlier = rows.get(key, RecordedWait(pid=wait.pid, processes=wait.processes))
        rows[key] = replace(  # a wait in progress is in each window until it ends, so only the latest counts
            wait.merged_with(earlier),
            syncs=earlier.syncs + wait.syncs,
            waited_ms=earlier.waited_ms + wait.waited_ms,
            longest_ms=max(earlier.longest_ms, wait.longest_ms),
            p50_us=0,
            frozen_ms=max(earlier.frozen_ms, wait.frozen_ms),
            cpu_ms=earlier.cpu_ms + wait.cpu_ms,
            partly_traced=earlier.partly_traced or wait.partly_traced,
        )
    processes = sorted(transfers(windows), key=lambda process: -(process.read + process.written))
    traced = [window.traced_s for window in windows if window.traced_s is not None]
    return replace(
        windows[-1],
        elapsed_s=sum(window.elapsed_s for window in windows),
        traced_s=sum(traced) if traced else None,
        waits=tuple(sorted(rows.values(), key=lambda wait: -(wait.waited_ms + wait.in_flight_ms))[:MAX_ROWS]),
        processes=tuple(processes[:MAX_ROWS]),
    )
