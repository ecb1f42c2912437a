"""Texts that occur in the sentences of several rules."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from math import inf

from fstui.model.host import Host, OtherWriter, Process
from fstui.model.quantities import duration_ns, rate, ratio, seconds
from fstui.model.steps import Step
from fstui.model.storage import SIMULATED, Node, Reading
from fstui.storage.layers.devices import platforms
from fstui.storage.layers.devices.caches import is_behind_raid_controller, is_optane
from fstui.storage.layers.devices.nvme import device_file
from fstui.storage.layers.flushes import Range

CUT_THE_POWER = "For stronger evidence, run a power-cut test: 'fstui powercut --help' describes it."
CHECK_CONTROLLER = (
    "Check that the controller's battery or capacitor is charged (without it, the cache must write through), and that "
    "the write caches of the drives behind the controller are off."
)
_CHECK_ARRAY = (
    "Check the array's battery, and that its write cache is mirrored, or switches off when the battery fails."
)
UNTIL_THEN = "Until then, also keep important data on a replica that confirms each commit and has its own power supply."
LOOK_FOR_FILTER = (
    "Look for a library or a filter that drops the sync calls: 'echo $LD_PRELOAD', 'grep Seccomp /proc/self/status'. "
    "The container may have been started with syncs suppressed: run fstui outside it."
)
FORCE_STOP = (
    "Nothing more can be tested from the guest: only the provider can cut the power of the volume itself. A force-stop "
    "of the instance during 'fstui powercut', with the witness on another host, shows only whether data left the guest."
)
_ASK_THE_PROVIDER = "Ask the cloud provider whether this disk passes flushes on."
_ASK_THE_OWNER = (
    "Ask the owner of the host whether this disk passes flushes on (VirtualBox: IgnoreFlush=0; QEMU: not cache=unsafe)."
)
LOOK_AT_LIBRARIES = (
    "Look for a library that stubs syncs in the server's process: 'grep -e eatmydata -e nosync /proc/PID/maps'."
)
_MANAGED = "On a managed service, change its parameters."
_MAX_NAMES = 3
_CLOCK_RESOLUTION_S = 1e-9
_MIN_ROUNDABLE_S = 0.05
"""A shorter time would be rounded to 0.0 s."""


def check_health(node: Node) -> str:
    """Return how to check that the cache of a drive, a controller or an array is protected."""
    if node.value("grade") == "array":
        return _CHECK_ARRAY
    if is_behind_raid_controller(node):
        return CHECK_CONTROLLER
    ending = "." if is_optane(node) else " shows the state of its capacitor."
    return f"Check the drive's health: 'smartctl -a {device_file(node)}'{ending}"


def capitalize(text: str) -> str:
    """Capitalise only the first letter, because the text may contain names."""
    return text[:1].upper() + text[1:]


def command(text: str) -> str:
    """Put a command in quotes, unless it contains quotes. Lines are never wrapped inside quotes."""
    return text if "'" in text else f"'{text}'"


def join_words(items: Iterable[str]) -> str:
    """Join the items: ``sda``, ``sda and sdb``, ``sda, sdb and sdc``."""
    *others, last = list(items) or [""]
    return f"{', '.join(others)} and {last}" if others else last


def writers(other_writers: Iterable[OtherWriter]) -> str:
    """Name the three writers that wrote most: ``mysqld, 4 × python3, rsyslogd and others``."""
    numbers = Counter(writer.name for writer in sorted(other_writers, key=lambda writer: -writer.written_bytes))
    labels = [f"{number} × {name}" if number > 1 else name for name, number in numbers.items()]
    return join_words([*labels[:_MAX_NAMES], *(["others"] if len(labels) > _MAX_NAMES else [])])


def devices(nodes: Iterable[Node]) -> str:
    return join_words(node.id for node in nodes)


def label(node: Node) -> str:
    """Return the type and mount point of a filesystem, or the kernel name of a device."""
    return f"{node.kind} {node.name}" if node.layer == "filesystem" else node.id.removeprefix(f"{node.kind}:")


def time_measured(steps: Iterable[Step]) -> str:
    """Return the total time of the steps: ``the 3.0 s measured``. A step that is listed twice counts once."""
    return f"the {_time(steps)} measured"


def time_judged(steps: Collection[Step], total_steps: int = 0) -> str:
    """Return the time of the steps that a verdict is based on.

    ``3.0 s of measurement``, or ``4 of the 8 steps that sync (3.0 s)``
    """
    time = _time(steps)
    if len(steps) < total_steps:
        return f"{len(steps)} of the {total_steps} steps that sync ({time})"
    return f"{time} of measurement"


def _time(steps: Iterable[Step]) -> str:
    total_s = sum({id(step): step.elapsed_s for step in list(steps)}.values())
    return duration_ns(1e9 * total_s) if 0 < total_s < _MIN_ROUNDABLE_S else seconds(total_s)


def syncs_a_second(syncs: int, step: Step) -> str:
    """Return the rate of the syncs that returned: ``9 120 syncs a second``."""
    return f"{rate(syncs / step.elapsed_s if step.elapsed_s > _CLOCK_RESOLUTION_S else 0.0)} syncs a second"


def range_text(values: Sequence[float]) -> str:
    """Return the range of the values: ``1.00``, or ``0.99 to 1.03``."""
    low, high = ratio(min(values)), ratio(max(values))
    return low if low == high else f"{low} to {high}"


def expected_text(flushes: Range | None) -> str:
    """Return the expected flushes: ``1``, ``1 to 2``, ``1/16 to 1``, or ``?`` if the number is not known."""
    if flushes is None:
        return "?"
    low, high = _fraction(flushes.low), _fraction(flushes.high)
    if low == high:
        return low
    return f"{low} or more" if flushes.high == inf else f"{low} to {high}"


def _fraction(flushes: float) -> str:
    return f"1/{1 / flushes:g}" if 0 < flushes < 1 and (1 / flushes).is_integer() else f"{flushes:g}"


def evidence_line(node: Node, what: str, value: str, path: str = "") -> str:
    return f"{label(node)} {what}: {value}" + (f" ({path})" if path and not path.startswith(SIMULATED) else "")


def write_cache(node: Node) -> str:
    path = f"/sys/block/{node.id}/queue/write_cache"
    return evidence_line(node, "write cache", node.write_cache or "not stated", path)


def reading(node: Node, fact: Reading) -> str:
    return evidence_line(node, fact.what, fact.value, fact.path)


def readings(node: Node, *names: str) -> Iterator[str]:
    yield from (reading(node, fact) for name in names if (fact := node.reading(name)) is not None)


def medium(node: Node) -> str:
    medium = node.medium
    if medium is None:
        return f"{node.id} medium: not known"
    # the text before the colon says whether the declaration was saved: "declared by you (remembered): …"
    declaration = medium.reason.partition(":")[0] or "declared by you"
    source = declaration if medium.declared else medium.reason or "read"
    return f"{node.id}: medium {medium.class_}, write cache {medium.write_cache} ({source})"


def host_advice(host: Host) -> tuple[str, ...]:
    """Return what to check on the host of a guest; nothing on real hardware."""
    if not host.virtualization:
        return ()
    if host.cloud:
        return (_ASK_THE_PROVIDER,)
    platform = platforms.find(host.virtualization)
    return (platform.how_to_check if platform else _ASK_THE_OWNER,)


def provider_advice(nodes: Iterable[Node]) -> tuple[str, ...]:
    """Return how to check whether the services that provide these devices honour flushes."""
    services = (platforms.service(node.kind, node.name, node.model) for node in nodes)
    return tuple(dict.fromkeys(service.how_to_check for service in services if service))


def durable_commits_advice(lossy_settings: Sequence[str]) -> str:
    settings = " ".join(lossy_settings)
    if "innodb" in settings or "sync_binlog" in settings:
        return f"Set sync_binlog = 1 and innodb_flush_log_at_trx_commit = 1. {_MANAGED}"
    if "synchronous =" in settings:
        return "Set PRAGMA synchronous = FULL, or EXTRA with journal_mode DELETE."
    return f"Set fsync = on and synchronous_commit = on. {_MANAGED}"


def process_label(process: Process) -> str:
    return f"{process.name or 'process'} ({process.pid})"


def io_limits(process: Process, prefix: str) -> Iterator[str]:
    for limit in process.io_limits:
        yield f"{prefix}: {limit.what} {limit.value} ({limit.path})"
