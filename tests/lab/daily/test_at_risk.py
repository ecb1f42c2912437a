"""``fstui watch --at-risk`` in a virtual machine, compared with what a power cut takes from its disk.

An emulated guest is so slow that each file is examined only every few seconds. What the kernel writes to the disk in
between is not in the row of its file, but in the line of the disk. So the sums are compared.
"""

import json
from datetime import date
from pathlib import Path

import msgspec
import pytest

from fstui.model.at_risk import AtRisk
from tests.lab.image import cached, missing_tools
from tests.lab.laboratory import attach, laboratory, make
from tests.lab.machine import MOUNT, load, names, proven
from tests.lab.recipe import RECIPES, Kernel
from tests.lab.selection import AT_RISK, selection
from tests.lab.vm import Vm
from tests.real.disks import MIB
from tests.real.test_at_risk_cut import NEW_BYTES, READ, WRITE

KERNEL: Kernel = "6.12"
"""The older one has no cachestat."""
PATIENCE = 5.0
ATTACH = dict(zip(AT_RISK, ("mount -o commit=300 $a $data", "mount $a $data"), strict=True))
"""The journal's commit every 5 s would flush the disk."""
TODAY = selection(date.today(), {name: load(name) for name in names()}, proven()).at_risk


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.timeout(1800)
@pytest.mark.skipif(TODAY is None, reason="the laboratory cuts the power of other machines today")
def test_a_power_cut_of_a_guest_takes_what_is_reported(shared: Path) -> None:
    image = cached(RECIPES[KERNEL]["base"])
    if lacking := [*missing_tools(), *([] if image else [f"python -m tests.lab build --kernel {KERNEL}"])]:
        pytest.skip(f"THE LABORATORY DID NOT RUN: missing: {', '.join(lacking)}")
    assert TODAY is not None
    machine = load(TODAY)
    stack = msgspec.structs.replace(machine.stack, attach=[ATTACH[TODAY]])
    machine = msgspec.structs.replace(machine, stack=stack)
    with laboratory(KERNEL, print, PATIENCE, shared) as lab, lab.backing(TODAY, machine) as backing:
        backing.start()
        with lab.running(TODAY, machine, backing) as vm:
            make(vm, machine)
            attach(vm, machine)
            state = last_state(vm)
        backing.kill()
        backing.start()
        with lab.running(TODAY, machine, backing) as vm:
            attach(vm, machine)
            vm.must(f"cat >/run/read.py <<'E'\n{READ}\nE")
            survived = json.loads(vm.must(f"python3 /run/read.py {MOUNT}"))
    lost = sum(written - survived.get(name, 0) for name, written in NEW_BYTES.items())
    reported = sum(row.dirty_bytes for row in state.files) + sum(disk.not_flushed_bytes for disk in state.devices)
    print(f"{TODAY}: reported {reported / MIB:.2f} MiB, lost {lost / MIB:.2f} MiB")
    assert 0 < lost <= reported
    assert ("after" in survived) or state.names, "a lost rename was reported"


def last_state(vm: Vm) -> AtRisk:
    """Write in the guest, and return what the watch there says just before the power is cut."""
    vm.must(f"cat >/run/write.py <<'E'\n{WRITE}\nE\nmkfifo /run/steps")
    vm.must("sleep 9999 >/dev/null 2>&1 <>/run/steps &")  # keeps it open
    vm.must(f"python3 /run/write.py {MOUNT} >/run/said 2>&1 </run/steps &")
    until(vm, "grep -q prepared /run/said")
    vm.must("XDG_STATE_HOME=/run/state fstui watch --at-risk --format events >/run/events 2>/run/errors </dev/null &")
    until(vm, "[ $(wc -l </run/events) -ge 3 ]")
    for words in ("written", "in the cache"):
        vm.must("echo >/run/steps")
        until(vm, f"grep -q '{words}' /run/said")
        until(vm, "[ $(wc -l </run/events) -ge $((n + 4)) ]", "n=$(wc -l </run/events)")
    line = vm.must("tail -n 2 /run/events | head -n 1")
    return msgspec.convert(json.loads(line)["second"], AtRisk)


def until(vm: Vm, condition: str, before: str = "") -> None:
    vm.must(f"{before}\nuntil {condition}; do sleep 0.2; done")
