"""Paths of files: from what the program has open, or from programs of the same name."""

import os
import time
from pathlib import Path

import pytest

from fstui.trace.reader import files
from fstui.trace.reader.files import FileLocation, FileLocations, device_numbers, fdinfo
from fstui.trace.reader.processes import TracedProcess, process_of
from fstui.trace.reader.waits import SyncedFile

UNUSED = 1 << 22
"""No process has this number (kernel: PID_MAX_LIMIT)."""


def this_program() -> TracedProcess:
    program = process_of(os.getpid())
    assert program
    return program


def event_file(fd: int, *, with_device: bool = True) -> SyncedFile:
    """Return an open file as the kernel's events describe it."""
    info = fdinfo(this_program(), str(fd))
    return SyncedFile(device_numbers()[info["mnt_id"]] if with_device else 0, info["ino"])


def test_a_file_is_found_by_inode_among_the_open_files(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        names = FileLocations()
        names.begin()
        file_of_event = event_file(file.fileno(), with_device=False)
        assert names.locate(this_program(), file_of_event).path == str(tmp_path / "log")
        assert names.locate(this_program()._replace(pid=UNUSED), file_of_event).path is None


def test_an_ended_process_had_the_files_of_its_namesakes(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as file:
        names = FileLocations()
        names.begin()
        file_of_event = event_file(file.fileno())
        known = names.locate(this_program(), file_of_event)
        assert known.path == str(tmp_path / "log")
        assert names.locate(this_program()._replace(pid=UNUSED), file_of_event) == known
        assert names.locate(TracedProcess(UNUSED, 0, "another"), file_of_event) == FileLocation(
            None, file_of_event.device, file_of_event.inode
        )


def test_descriptor_and_inode_lead_to_the_same_location(tmp_path: Path) -> None:
    """If the trace began in the middle of a sync, only the descriptor of its system call is known."""
    with (tmp_path / "log").open("w") as file:
        names = FileLocations()
        names.begin()
        by_descriptor = names.locate(this_program(), SyncedFile(fd=file.fileno()))
        assert by_descriptor == names.locate(this_program(), event_file(file.fileno()))


def test_an_interrupted_search_is_repeated_in_the_next_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> dict[str, int]:
        until = time.thread_time() + 2 * files.SEARCH_CPU_S
        while time.thread_time() < until:
            pass
        return {}

    with (tmp_path / "log").open("w") as file:
        names, file_of_event = FileLocations(), event_file(file.fileno())
        with monkeypatch.context() as patched:
            patched.setattr(files, "fdinfo", slow)
            names.begin()
            assert names.locate(this_program(), file_of_event).path is None
        monkeypatch.setattr(files, "SEARCH_CPU_S", 60.0)
        names.begin()
        assert names.locate(this_program(), file_of_event).path == str(tmp_path / "log")


def test_a_descriptor_that_became_a_pipe_has_no_path() -> None:
    reading, writing = os.pipe()
    names = FileLocations()
    names.begin()
    assert names.locate(this_program(), SyncedFile(fd=reading)).path is None
    os.close(reading)
    os.close(writing)


def test_a_renamed_file_gets_its_new_name_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "SEARCH_INTERVAL_S", 0.0)
    names = FileLocations()
    with (tmp_path / "old").open("w") as file:
        file_of_event = event_file(file.fileno())
        names.begin()
        assert names.locate(this_program(), file_of_event).path == str(tmp_path / "old")
        (tmp_path / "old").rename(tmp_path / "new")
        names.begin()
        assert names.locate(this_program(), file_of_event).path == str(tmp_path / "new")
    names.begin()
    assert names.locate(this_program(), file_of_event).path == str(tmp_path / "new")
