"""Processor time of real processes: a server, what descends from it, and the clients that a probe has waited for."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from fstui.runs.serving import Processors

AUTOGROUP = Path("/proc/sys/kernel/sched_autogroup_enabled")
BURN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"


def used_s(command: str) -> float:
    """What a shell took for that, and all that it has waited for; this test stands for the probe."""
    before = os.times()
    subprocess.run(["sh", "-c", command], check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def test_grandchildren_of_the_server_count_living_and_ended() -> None:
    own_s = used_s(BURN)
    shell = """read x; sh -c "$BURN; echo ended"; sh -c 'sh -c "$BURN; echo burnt; read x"; :'; :"""
    with subprocess.Popen(
        ["sh", "-c", shell], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "BURN": BURN}
    ) as server:
        assert server.stdin and server.stdout
        seen = Processors(server.pid, os.getpid())
        began = time.monotonic()
        server.stdin.write(b"\n")
        server.stdin.flush()
        assert [server.stdout.readline(), server.stdout.readline()] == [b"ended\n", b"burnt\n"]
        elapsed_s = time.monotonic() - began
        found = seen.figures(elapsed_s, clients=1)
        server.stdin.write(b"\n")
    assert found["cpu_s"] > 1.3 * own_s
    assert found["cpu_share"] == pytest.approx(found["cpu_s"] / elapsed_s, rel=0.01)
    assert 0 < found["box_cpu_share"] <= 1
    assert 0 <= found["others_cpu_share"] <= found["box_cpu_share"]


def test_clients_count_once_they_have_ended_and_share_the_processors() -> None:
    seen = Processors(os.getppid(), os.getpid())
    client_s = used_s(BURN)
    one, many = seen.figures(1.0, clients=1), seen.figures(1.0, clients=10_000)
    assert one["cpu_s"] >= 0.9 * client_s
    assert many["cpu_share"] <= one["cpu_share"]


def test_a_server_that_is_elsewhere_or_gone_has_no_share() -> None:
    of_the_box = {"box_cpu_share", "autogroup"} if AUTOGROUP.exists() else {"box_cpu_share"}
    assert set(Processors(None, os.getpid()).figures(1.0, 1)) == of_the_box
    with subprocess.Popen(["sh", "-c", "read x"], stdin=subprocess.PIPE) as server:
        seen = Processors(server.pid, os.getpid())
    assert set(seen.figures(1.0, 1)) == of_the_box
