"""Names for files: of what a program has open, and of what its namesakes had."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fstui.trace.reader import naming
from fstui.trace.reader.naming import Names, Place, fdinfo, mounts
from fstui.trace.reader.programs import Program, program_of
from fstui.trace.reader.waits import File

NOBODY = 1 << 22
"""No process has such a number (kernel: PID_MAX_LIMIT)."""


def us() -> Program:
    program = program_of(os.getpid())
    assert program
    return program


def asked_for(fd: int, *, with_device: bool = True) -> File:
    """As the kernel's events say it."""
    told = fdinfo(us(), str(fd))
    devices = {mount: device for mount, device, _ in mounts()}
    return File(devices[told["mnt_id"]] if with_device else 0, told["ino"])


def test_a_file_is_found_by_its_inode_among_what_the_program_has_open(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        names = Names()
        names.begin()
        asked = asked_for(file.fileno(), with_device=False)
        assert names.place(us(), asked).path == str(tmp_path / "log")
        assert names.place(us()._replace(pid=NOBODY), asked).path is None


def test_a_server_s_process_that_has_ended_had_the_files_of_its_namesakes(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        names = Names()
        names.begin()
        asked = asked_for(file.fileno())
        known = names.place(us(), asked)
        assert known.path == str(tmp_path / "log")
        assert names.place(us()._replace(pid=NOBODY), asked) == known
        assert names.place(Program(NOBODY, 0, "another"), asked) == Place(None, asked.device)


def test_what_there_was_no_time_to_look_for_is_looked_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> dict[str, int]:
        until = time.thread_time() + 2 * naming.SEARCH_S
        while time.thread_time() < until:
            pass
        return {}

    with (tmp_path / "log").open("w") as file:
        names, asked = Names(), asked_for(file.fileno())
        with monkeypatch.context() as patched:
            patched.setattr(naming, "fdinfo", slow)
            names.begin()
            assert names.place(us(), asked).path is None
        monkeypatch.setattr(naming, "SEARCH_S", 60.0)
        names.begin()
        assert names.place(us(), asked).path == str(tmp_path / "log")


def test_a_number_that_is_a_pipe_by_now_is_no_file_s_name() -> None:
    reading, writing = os.pipe()
    names = Names()
    names.begin()
    assert names.place(us(), File(fd=reading)).path is None
    os.close(reading)
    os.close(writing)


def test_a_file_that_was_renamed_has_its_new_name_and_keeps_it_once_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "AGAIN_S", 0.0)
    names = Names()
    with (tmp_path / "old").open("w") as file:
        asked = asked_for(file.fileno())
        names.begin()
        assert names.place(us(), asked).path == str(tmp_path / "old")
        (tmp_path / "old").rename(tmp_path / "new")
        names.begin()
        assert names.place(us(), asked).path == str(tmp_path / "new")
    names.begin()
    assert names.place(us(), asked).path == str(tmp_path / "new")
