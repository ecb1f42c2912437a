"""Pieces of the rules' sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fstui.judge.owed import Range
from fstui.model import Idle, Node, Reading
from fstui.quantities import plain, ratio

_MOST_NAMES = 3


def listed(items: Iterable[str]) -> str:
    """``sda``, ``sda and sdb``, ``sda, sdb and sdc``."""
    *most, last = list(items) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def writers(idle: Idle) -> str:
    """The other writers' names, the busiest three: ``mysqld, python3 (4 of them), rsyslogd and others``."""
    times = Counter(writer.name for writer in sorted(idle.writers, key=lambda writer: -writer.written_bytes))
    named = [plain(name) + (f" ({number} of them)" if number > 1 else "") for name, number in times.items()]
    return listed([*named[:_MOST_NAMES], *(["others"] if len(named) > _MOST_NAMES else [])])


def devices(nodes: Iterable[Node]) -> str:
    """The devices' kernel names, as text that is safe to show."""
    return listed(plain(node.id) for node in nodes)


def named(node: Node) -> str:
    """A filesystem by its type and place, a device by its kernel name."""
    return plain(f"{node.kind} {node.name}" if node.layer == "filesystem" else node.id.removeprefix(f"{node.kind}:"))


def between(values: Sequence[float]) -> str:
    """``1.00``, or ``0.99 to 1.03``."""
    low, high = ratio(min(values)), ratio(max(values))
    return low if low == high else f"{low} to {high}"


def owed(expected: Range | None) -> str:
    """``1``, ``1 to 2``, or ``?`` where nobody knows."""
    if expected is None:
        return "?"
    low, high = f"{expected.low:g}", f"{expected.high:g}"
    return low if low == high else f"{low} to {high}"


def read(node: Node, what: str, value: str, path: str) -> str:
    """A line of evidence: who says it, what, and where it stood."""
    return plain(f"{node.id} {what}: {value}" + (f" ({path})" if path else ""))


def write_cache(node: Node) -> str:
    """The kernel's view of the device's write cache, and where it stands."""
    return read(node, "write cache", node.write_cache or "not stated", f"/sys/block/{node.id}/queue/write_cache")


def reading(node: Node, found: Reading) -> str:
    """The same for a reading."""
    return read(node, found.what, found.value, found.path)
