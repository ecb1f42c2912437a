"""The witness reads the writer's lines from a pipe, until each possible end."""

import asyncio
import errno
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from fstui.model.errors import Refused
from fstui.powercut import log as lines
from fstui.powercut.log import BadLog
from fstui.powercut.witness import LogNotWritten, Witness
from fstui.runs import power_cut
from fstui.runs.machine.local import LocalMachine
from fstui.runs.session import Session
from tests import prefork
from tests.powercut.honest import log_of
from tests.powercut.test_output import small_files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the lines of a writer during another boot."""
    target = str(tmp_path_factory.mktemp("target"))
    cut = asyncio.run(power_cut.prepare_cut(Session(LocalMachine()), target, {"writes": "create"}))
    return log_of(cut, {0: 40}, boot="another")


def hear(witness: Witness, *pieces: bytes) -> None:
    """Let the witness read these lines, then the end of the connection."""
    for piece in pieces:
        reading, writing = os.pipe()
        os.write(writing, piece)
        os.close(writing)
        list(witness.listen(reading, 0.0))
        os.close(reading)


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "acks.log")


@pytest.mark.parametrize("before", [b"", b"Welcome to db7\nYou have mail.\n"], ids=["nothing", "a login shell's"])
def test_every_line_is_stored_unchanged(witness: Witness, whole: bytes, before: bytes) -> None:
    hear(witness, before + whole)
    witness.close()
    assert witness.path.read_bytes() == whole
    assert witness.durable_count == 41


def test_incomplete_line_is_not_stored(witness: Witness, whole: bytes) -> None:
    hear(witness, whole[:-3])
    witness.close()
    assert lines.parse(witness.path.read_bytes()).writers[0].last_sequence == 39


def test_view_shows_last_and_durable_acknowledgements(witness: Witness, whole: bytes) -> None:
    hear(witness, whole)
    witness.sync()
    view = witness.state()
    assert (view.ack_count, view.durable_count) == (41, 41)
    assert view.newest_ack == lines.Ack(0, 40, 410)
    witness.close()


def test_sign_of_life_is_no_acknowledgement(witness: Witness, whole: bytes) -> None:
    hear(witness, whole)
    before = witness.state()
    hear(witness, b"alive 9000\n")
    after = witness.state()
    assert after.since_ack_s > before.since_ack_s  # the storage hangs
    assert after.since_line_s < after.since_ack_s  # the connection works
    witness.close()


def test_existing_file_is_never_written(tmp_path: Path) -> None:
    (tmp_path / "acks.log").write_text("of another cut")
    with pytest.raises(Refused, match="already exists"):
        Witness(tmp_path / "acks.log")
    assert (tmp_path / "acks.log").read_text() == "of another cut"


def test_missing_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        Witness(tmp_path / "none" / "acks.log")


def test_empty_log_is_removed(witness: Witness) -> None:
    hear(witness, b"bash: fstui: command not found\n")
    witness.close()
    assert not witness.path.exists()


def test_acknowledgements_before_damage_are_kept(witness: Witness, whole: bytes) -> None:
    with pytest.raises(BadLog, match="is not a line of a power-cut test"):
        hear(witness, whole + b"segfault\n" + b"ack 0 41 999\n")
    witness.close()
    assert witness.path.read_bytes() == whole
    assert witness.durable_count == 41


@pytest.mark.parametrize("spoken", [True, False])
def test_data_without_newlines_is_not_buffered(witness: Witness, whole: bytes, spoken: bool) -> None:
    """The data of /dev/zero, or of a login shell that never starts the writer."""
    if spoken:
        hear(witness, whole)
    with pytest.raises(BadLog, match="without a newline"), Path("/dev/zero").open("rb") as endless:
        list(witness.listen(endless.fileno(), 1.0))
    witness.close()
    assert witness.path.exists() == spoken


def test_full_disk_is_reported_and_log_is_valid(witness: Witness, whole: bytes) -> None:
    more = b"".join(b"ack 0 %d 999\n" % sequence for sequence in range(41, 2000))
    with pytest.raises(LogNotWritten, match=os.strerror(errno.EFBIG)), small_files(8192):
        hear(witness, whole, more)
    witness.close()
    kept = lines.parse(witness.path.read_bytes())
    assert 41 < kept.ack_count < 2000


def run(file: Path, data: bytes) -> subprocess.CompletedProcess[bytes]:
    return prefork.run("powercut", "witness", file, data=data)


def test_broken_connection_differs_from_writers_end(tmp_path: Path, whole: bytes) -> None:
    broken = run(tmp_path / "a.log", whole)
    assert broken.returncode == 0
    assert b"connection broke" in broken.stderr and b"41 acknowledgements are saved" in broken.stderr
    assert b"powercut verify" in broken.stderr
    ended = run(tmp_path / "b.log", whole + b"end 900 stopped by SIGINT\n")
    assert (ended.returncode, ended.stdout) == (0, b"") and b"\x1b" not in ended.stderr
    assert b"ended by itself: stopped by SIGINT" in ended.stderr and b"connection broke" not in ended.stderr


def test_silent_writer_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path / "a.log", b"command not found\n")
    assert done.returncode == 1
    assert b"the writer sent nothing" in done.stderr


def test_witness_on_the_same_host_gets_a_warning(tmp_path: Path, whole: bytes) -> None:
    header, _, rest = whole.partition(b"\n")
    here = {**msgspec.json.decode(header), "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip()}
    assert b"runs on this host" in run(tmp_path / "a.log", msgspec.json.encode(here) + b"\n" + rest).stderr
    assert b"runs on this host" not in run(tmp_path / "b.log", whole).stderr
