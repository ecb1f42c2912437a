"""Pieces of the rules' sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import isinf

from fstui.model.activity import SERVERS
from fstui.model.host import Host, Writer
from fstui.model.quantities import duration_ns, rate, ratio, seconds
from fstui.model.steps import Step
from fstui.model.storage import Node, Reading
from fstui.storage.layers.flushes import Range

CUT_THE_POWER = "To know: cut the power in the middle of acknowledged writes, with a witness on another box."
CHECK_CONTROLLER = (
    "Check the controller's battery or capacitor: charged, and its cache set to write back only with it.",
    "Check that the write caches of the drives behind the controller are off.",
)
LOOK_FOR_FILTER = (
    "Look for a filter that swallows the sync calls: grep Seccomp /proc/self/status. A container may have been started "
    "with syncs suppressed: repeat outside it."
)
VIRTUALBOX = "VirtualBox: set IgnoreFlush to 0 for this disk, then run again."
_MOST_NAMES = 3
_NO_TIME_S = 1e-9
"""The clock of a step tells no less."""
_SHORT_S = 0.05
"""What would be no time in tenths of a second."""


def capital(words: str) -> str:
    """As a sentence begins; a name further on stays as it is written."""
    return words[:1].upper() + words[1:]


def listed(items: Iterable[str]) -> str:
    """``sda``, ``sda and sdb``, ``sda, sdb and sdc``."""
    *most, last = list(items) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def writers(found: Iterable[Writer]) -> str:
    """The other writers' names, the busiest three: ``mysqld, python3 (4 of them), rsyslogd and others``."""
    times = Counter(writer.name for writer in sorted(found, key=lambda writer: -writer.written_bytes))
    named = [name + (f" ({number} of them)" if number > 1 else "") for name, number in times.items()]
    return listed([*named[:_MOST_NAMES], *(["others"] if len(named) > _MOST_NAMES else [])])


def servers(found: Iterable[Writer]) -> str:
    """Those of the writers that keep data for others: ``mysqld``."""
    return listed(dict.fromkeys(writer.name for writer in found if writer.name in SERVERS))


def devices(nodes: Iterable[Node]) -> str:
    """The devices' kernel names."""
    return listed(node.id for node in nodes)


def named(node: Node) -> str:
    """A filesystem by its type and place, a device by its kernel name."""
    return f"{node.kind} {node.name}" if node.layer == "filesystem" else node.id.removeprefix(f"{node.kind}:")


def of_pool(node: Node) -> str:
    """A ZFS dataset by its place, a volume by its name."""
    return f"volume {node.name}" if node.layer == "block" else f"dataset under {node.name}"


def names(steps: Iterable[Step]) -> tuple[str, ...]:
    """The steps' names, each once."""
    return tuple(dict.fromkeys(step.name for step in steps))


def time_measured(steps: Iterable[Step]) -> str:
    """What a sentence says of the time that it covers: ``the 3.0 s measured``, ``the 20.0 ms measured``. A step given
    twice counts once."""
    total_s = sum({id(step): step.elapsed_s for step in list(steps)}.values())
    return f"the {duration_ns(1e9 * total_s) if 0 < total_s < _SHORT_S else seconds(total_s)} measured"


def syncs_a_second(syncs: int, step: Step) -> str:
    """``9 120 syncs a second``: as many as were answered, whatever they were worth."""
    return f"{rate(syncs / step.elapsed_s if step.elapsed_s > _NO_TIME_S else 0.0)} syncs a second"


def between(values: Sequence[float]) -> str:
    """``1.00``, or ``0.99 to 1.03``."""
    low, high = ratio(min(values)), ratio(max(values))
    return low if low == high else f"{low} to {high}"


def expected(flushes: Range | None) -> str:
    """``1``, ``1 to 2``, or ``?`` where nobody knows what is expected."""
    if flushes is None:
        return "?"
    if isinf(flushes.high):
        return "at least 1" if flushes.low >= 1 else "more than none"
    low, high = f"{flushes.low:g}", f"{flushes.high:g}"
    return low if low == high else f"{low} to {high}"


def read(node: Node, what: str, value: str, path: str) -> str:
    """A line of evidence: who says it, what, and where it stood."""
    return f"{node.id} {what}: {value}" + (f" ({path})" if path else "")


def write_cache(node: Node) -> str:
    """The kernel's view of the device's write cache, and where it stands."""
    return read(node, "write cache", node.write_cache or "not stated", f"/sys/block/{node.id}/queue/write_cache")


def reading(node: Node, found: Reading) -> str:
    """The same for a reading."""
    return read(node, found.what, found.value, found.path)


def medium(node: Node) -> str:
    """What the device really is, and who says so."""
    known = node.medium
    if known is None:
        return f"{node.id} medium: not known"
    # before its colon stands when it was declared: "declared by you (remembered): …"
    declared = known.because.partition(":")[0] or "declared by you"
    who = declared if known.declared else known.because or "read"
    return f"{node.id} medium, write cache: {known.class_}, {known.write_cache}: {who}"


def hypervisor(host: Host) -> tuple[str, ...]:
    """What to see to on the host of a guest; nothing on real hardware."""
    if not host.virtualization:
        return ()
    if host.virtualization in {"oracle", "virtualbox"}:
        return (VIRTUALBOX,)
    return ("On the host: this disk must not ignore flushes (VirtualBox IgnoreFlush=0; not QEMU cache=unsafe).",)


def durable_commits(lossy: Sequence[str]) -> str:
    """What to set in the place of these settings of a database."""
    settings = " ".join(lossy)
    if "innodb" in settings or "sync_binlog" in settings:
        return (
            "Durable: sync_binlog = 1 and innodb_flush_log_at_trx_commit = 1; on a managed service, in its parameters."
        )
    if "synchronous =" in settings:
        return "Durable: PRAGMA synchronous = FULL; with journal_mode DELETE, EXTRA."
    return "Durable: fsync = on and synchronous_commit = on; on a managed service, in its parameters."
