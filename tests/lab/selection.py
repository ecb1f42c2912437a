"""The part of the laboratory that ``tests/run`` uses: two machines per day, with one kernel and then the other."""

from collections.abc import Collection, Mapping
from datetime import date

import msgspec

from tests.lab.machine import LabMachine
from tests.lab.recipe import KERNELS, Kernel

A_DAY = 2
"""Two processors measure and cut this many in three minutes."""
AT_RISK = ("ext4-virtio", "xfs-virtio")


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The machines of one day. On every other day, the power of one honest and one lying machine is cut as well."""

    kernel: Kernel
    measured: list[str]
    cut: list[str]
    at_risk: str | None
    """On the other days: the machine whose power is cut under ``fstui watch --at-risk``."""

    def __str__(self) -> str:
        return f"Linux {self.kernel}: {' '.join(self.measured)}; power cut: {' '.join(self.cut) or self.at_risk}"


def selection(day: date, machines: Mapping[str, LabMachine], proven: Mapping[str, Collection[Kernel]]) -> Selection:
    """Return the machines of a day. A round covers each proven machine with each of its kernels.

    In the next round another machine comes first, and is cut if the round before cut none on that day.
    """
    parts = rounds(machines, proven)
    number, part = divmod(day.toordinal(), len(parts))
    kernel, names = parts[part]
    measured = _rotated(names, number)
    if (number + part) % 2:
        at_risk = AT_RISK[(number + part) // 2 % len(AT_RISK)]
        return Selection(kernel=kernel, measured=measured, cut=[], at_risk=at_risk)
    cuttable = [name for name in measured if machines[name].cut]
    cut = [next((name for name in cuttable if machines[name].truth == truth), None) for truth in ("honest", "lying")]
    return Selection(kernel=kernel, measured=measured, cut=[name for name in cut if name is not None], at_risk=None)


def rounds(
    machines: Mapping[str, LabMachine], proven: Mapping[str, Collection[Kernel]]
) -> list[tuple[Kernel, list[str]]]:
    """Return the parts of one round, one per day, with honest and lying machines together if possible."""
    parts: list[tuple[Kernel, list[str]]] = []
    for kernel in KERNELS:
        names = sorted(
            (name for name in proven if kernel in proven[name]), key=lambda name: (machines[name].truth, name)
        )
        days = -(-len(names) // A_DAY)
        parts += [(kernel, names[day::days]) for day in range(days)]
    return parts


def _rotated(names: list[str], steps: int) -> list[str]:
    start = steps % max(len(names), 1)
    return names[start:] + names[:start]
