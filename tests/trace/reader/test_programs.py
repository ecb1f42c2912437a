"""Names for threads, also for those that have ended."""

import os
import subprocess
import sys
import threading

from fstui.trace.reader.programs import WORKERS, Program, Programs, program_of

NOBODY = 1 << 22
"""No thread has such a number (kernel: PID_MAX_LIMIT)."""


def test_a_thread_is_its_process_s() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(program_of(threading.get_native_id())))
    thread.start()
    thread.join()
    assert seen == [program_of(os.getpid())]
    assert seen[0] and seen[0].pid == os.getpid() and not seen[0].is_kernel


def test_a_number_that_is_used_again_is_another_program() -> None:
    assert Program(5, 100, "sh") != Program(5, 200, "sh")


def test_who_has_ended_is_known_from_before_or_by_the_name_that_the_kernel_kept() -> None:
    programs = Programs(lambda: f"{NOBODY} rsync\nnonsense\n")
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    before = programs.of([child.pid])
    child.communicate(b"\n")
    assert programs.of([child.pid]) == before
    assert programs.of([NOBODY, NOBODY + 1]) == {
        NOBODY: Program(NOBODY, 0, "rsync"),
        NOBODY + 1: Program(NOBODY + 1, 0, ""),
    }


def test_a_worker_of_io_uring_that_has_ended_worked_for_its_owner() -> None:
    programs = Programs(lambda: f"{NOBODY} iou-wrk-{os.getpid()}\n{NOBODY + 1} iou-wrk-{NOBODY + 2}\n{NOBODY + 2} fio")
    assert programs.of([NOBODY, NOBODY + 1]) == {
        NOBODY: program_of(os.getpid()),
        NOBODY + 1: Program(NOBODY + 2, 0, "fio"),
    }


def test_the_kernel_s_workers_are_one() -> None:
    workers = [
        found
        for name in os.listdir("/proc")
        if name.isdigit() and (found := program_of(int(name))) and found.name.startswith("kworker")
    ]
    assert set(workers) <= {WORKERS}
