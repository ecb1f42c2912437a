"""To whom a thread belongs, and the names of programs, also of those that have ended."""

import os
import subprocess
import sys
import threading

from fstui.trace.reader.processes import WORKERS, Lineage, ProcessCache, TracedProcess, family, in_family, process_of

UNUSED = 1 << 22
"""No thread has this number (kernel: PID_MAX_LIMIT)."""


def test_children_have_the_owner_of_their_parent() -> None:
    lineage = Lineage()
    lineage.add("own", [100])
    lineage.add("kernel_threads", [2])
    for parent, child in ((100, 101), (101, 102), (50, 51), (2, 60)):
        lineage.add_fork(parent, child)
    assert [lineage.owner(thread) for thread in (102, 51, 60, 7)] == ["own", "others", "kernel_threads", "others"]


def test_a_reused_number_belongs_to_its_new_owner() -> None:
    lineage = Lineage()
    lineage.add("own", [100])
    lineage.add_fork(100, 101)
    lineage.add_fork(50, 101)
    assert lineage.owner(101) == "others"
    lineage.add_fork(100, 101)
    assert lineage.owner(101) == "own"


def test_an_io_uring_worker_is_recognised_by_its_name() -> None:
    lineage = Lineage()
    lineage.add("own", [100])
    assert lineage.owner(900, b"iou-wrk-100\0\0\0\0\0") == "own"
    assert lineage.owner(900, b"iou-wrk-101\0\0\0\0\0") == "others"
    assert lineage.owner(900, b"iou-wrk-100x\0\0\0\0") == "others"


def test_a_family_has_all_threads_of_a_process_and_its_children() -> None:
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


def test_a_loop_of_parents_ends_the_search() -> None:
    assert not in_family(3, {3: 4, 4: 3}, [1])
    assert in_family(3, {3: 4, 4: 1}, [1])


def test_a_thread_has_the_program_of_its_process() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(process_of(threading.get_native_id())))
    thread.start()
    thread.join()
    assert seen == [process_of(os.getpid())]
    assert seen[0] and seen[0].pid == os.getpid() and not seen[0].is_kernel


def test_ended_threads_are_named_from_memory_or_the_kernels_list() -> None:
    programs = ProcessCache(lambda: f"{UNUSED} rsync\nnonsense\n")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    before = programs.find_processes([child.pid])
    child.communicate(b"\n")
    assert programs.find_processes([child.pid]) == before
    assert programs.find_processes([UNUSED, UNUSED + 1]) == {
        UNUSED: TracedProcess(UNUSED, 0, "rsync"),
        UNUSED + 1: TracedProcess(UNUSED + 1, 0, ""),
    }


def test_an_ended_io_uring_worker_belongs_to_its_owner() -> None:
    programs = ProcessCache(
        lambda: f"{UNUSED} iou-wrk-{os.getpid()}\n{UNUSED + 1} iou-wrk-{UNUSED + 2}\n{UNUSED + 2} fio"
    )
    assert programs.find_processes([UNUSED, UNUSED + 1]) == {
        UNUSED: process_of(os.getpid()),
        UNUSED + 1: TracedProcess(UNUSED + 2, 0, "fio"),
    }


def test_all_kernel_workers_are_one_program() -> None:
    workers = [
        found
        for name in os.listdir("/proc")
        if name.isdigit() and (found := process_of(int(name))) and found.name.startswith("kworker")
    ]
    assert set(workers) <= {WORKERS}
