"""A part of the laboratory, a different one each day: compare fstui's verdicts and power cuts with the truth.

``python -m tests.lab run`` runs all machines. The image is built if it is missing (some minutes, as root). Machines
that have not started after four minutes are skipped, and reported.
"""

import sys
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from tests.lab import LabUnavailable, table
from tests.lab.image import build, cached, missing_tools
from tests.lab.laboratory import Laboratory, laboratory
from tests.lab.machine import load, names, proven
from tests.lab.powercut import cut_power, measure_and_cut
from tests.lab.recipe import RECIPES
from tests.lab.selection import selection

TODAY = selection(date.today(), {name: load(name) for name in names()}, proven())
TOGETHER = [name for name in TODAY.cut if load(name).truth == "honest" and not load(name).stack.during]
MAX_S, CUT_S = 240, 90
"""No machine is started later than this after the first test; time that a power cut needs before that."""


@pytest.fixture(scope="module")
def began_s() -> float:
    """The time at which the first test requested the laboratory."""
    return time.monotonic()


@pytest.fixture(scope="module")
def lab(began_s: float, shared: Path) -> Iterator[Laboratory]:
    if missing := missing_tools():
        pytest.skip(
            f"THE LABORATORY DID NOT RUN: not installed: {', '.join(missing)} "
            "(apt-get install qemu-system-x86 nbdkit debootstrap)"
        )
    try:
        build(RECIPES[TODAY.kernel]["base"])
    except LabUnavailable as why:
        pytest.skip(f"THE LABORATORY DID NOT RUN: {why}")
    with laboratory(TODAY.kernel, say, shared=shared) as running:
        yield running


def say(text: str) -> None:
    print(text, file=sys.stderr)


def need(name: str, began_s: float, latest_s: float) -> None:
    """Skip the test if the machine's image is missing, or if too little time is left."""
    if cached(RECIPES[TODAY.kernel][load(name).image]) is None:  # some images compile kernel modules, which takes long
        pytest.skip(f"its image is missing: python -m tests.lab build {load(name).image} --kernel {TODAY.kernel}")
    if time.monotonic() > began_s + latest_s:
        pytest.skip("THE LABORATORY RAN OUT OF TIME: python -m tests.lab run runs all machines")


@pytest.mark.slow
@pytest.mark.parametrize("name", TOGETHER)
def test_measurement_and_power_cut_agree_with_the_truth(name: str, lab: Laboratory, began_s: float) -> None:
    need(name, began_s, MAX_S - CUT_S)
    measured, cut = measure_and_cut(lab, name, load(name))
    assert table.measurement_faults(load(name), measured) == [], measured
    assert table.cut_faults(load(name), [cut]) == [], cut


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TODAY.cut if name not in TOGETHER])
def test_power_cut_agrees_with_the_truth(name: str, lab: Laboratory, began_s: float) -> None:
    need(name, began_s, MAX_S - CUT_S)
    cuts = list(cut_power(lab, f"{name}-cut", load(name), 1))
    assert table.cut_faults(load(name), cuts) == [] and len(cuts) == 1, cuts


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TODAY.measured if name not in TOGETHER])
def test_measurement_agrees_with_the_truth(name: str, lab: Laboratory, began_s: float) -> None:
    need(name, began_s, MAX_S)
    measured, _ = lab.measure(name, load(name))
    assert table.measurement_faults(load(name), measured) == [], measured
