"""The kernel's figures for time without a CPU."""

import os
import time

import pytest

from fstui.measure.probes import writers
from fstui.measure.probes.writers import UNKNOWN, Starvation, stolen_ns_by_cpu


def test_waiting_for_a_shared_cpu_is_counted() -> None:
    cpus = os.sched_getaffinity(0)
    pid = os.fork()
    os.sched_setaffinity(0, {min(cpus)})
    if not pid:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            pass
        os._exit(0)
    try:
        counted, began = Starvation(), time.process_time()
        while time.process_time() - began < 0.1:
            pass
        for kernel_time in (counted.waits, counted.pressure):
            assert kernel_time.total_ns() >= kernel_time.longest_ns > 10_000_000
    finally:
        os.sched_setaffinity(0, cpus)
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def test_every_cpu_has_its_stolen_time() -> None:
    assert len(stolen_ns_by_cpu()) == os.cpu_count()
    assert all(ns >= 0 for ns in stolen_ns_by_cpu())


def test_time_without_a_cpu_is_unknown_without_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "read_text", lambda name: "")
    monkeypatch.setattr(writers, "open_in_proc", lambda name: None)
    nothing = Starvation()
    kernel_times = {ns for part in (nothing.waits, nothing.pressure) for ns in (part.total_ns(), part.longest_ns)}
    assert kernel_times | {nothing.stolen_ns()} == {UNKNOWN}
