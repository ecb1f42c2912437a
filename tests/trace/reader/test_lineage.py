"""Whose thread an event names."""

import os
import subprocess
import sys

from fstui.trace.reader.lineage import Lineage, descends, family


def test_what_ours_start_is_ours_and_what_others_start_is_not() -> None:
    lineage = Lineage()
    lineage.add("us", [100])
    lineage.add("kernel_threads", [2])
    for parent, child in ((100, 101), (101, 102), (50, 51), (2, 60)):
        lineage.forked(parent, child)
    assert [lineage.asker(thread) for thread in (102, 51, 60, 7)] == ["us", "others", "kernel_threads", "others"]


def test_a_number_that_is_used_again_belongs_to_its_new_owner() -> None:
    lineage = Lineage()
    lineage.add("us", [100])
    lineage.forked(100, 101)
    lineage.forked(50, 101)
    assert lineage.asker(101) == "others"
    lineage.forked(100, 101)
    assert lineage.asker(101) == "us"


def test_a_worker_of_io_uring_is_told_by_its_name() -> None:
    lineage = Lineage()
    lineage.add("us", [100])
    assert lineage.asker(900, b"iou-wrk-100\0\0\0\0\0") == "us"
    assert lineage.asker(900, b"iou-wrk-101\0\0\0\0\0") == "others"
    assert lineage.asker(900, b"iou-wrk-100x\0\0\0\0") == "others"


def test_a_family_is_every_thread_of_a_process_and_of_its_children() -> None:
    program = "import threading; threading.Thread(target=input, daemon=True).start(); print('two', flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout and child.stdout.readline() == "two\n"
        found = family([os.getpid()])
        assert {os.getpid(), child.pid} <= set(found)
        assert {int(thread) for thread in os.listdir(f"/proc/{child.pid}/task")} <= set(found)
        assert os.getppid() not in found
    finally:
        child.communicate("\n\n")


def test_parents_that_change_while_we_read_lead_no_walk_astray() -> None:
    assert not descends(3, {3: 4, 4: 3}, [1])
    assert descends(3, {3: 4, 4: 1}, [1])
