"""Records in the rows of real database servers, whose filesystem loses what was not written when the power is cut."""

import asyncio
import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from fstui.databases.record_server import server_settings
from fstui.measure import children
from fstui.measure.probes import own_filesystem
from fstui.powercut.records import Stream
from tests import prefork
from tests.databases.servers import require
from tests.factories.directories import held
from tests.real import headless
from tests.real.disks import unmount

pytestmark = [pytest.mark.root, pytest.mark.servers, pytest.mark.slow]
KINDS = ["postgresql", "mariadb", "mysql"]
CONTROL_FILE = {"postgresql": "global/pg_control", "mariadb": "ibdata1", "mysql": "ibdata1"}
Cut = Callable[[str], tuple[bytes, Path]]


@pytest.fixture
def filesystem(tmp_path: Path) -> Iterator[Path]:
    image, directory = tmp_path / "image", tmp_path / "mounted"
    own_filesystem.create_image(str(image), 1 << 30)
    own_filesystem.mount(str(image), str(directory))
    yield directory
    unmount(directory)


@pytest.fixture
def cut(filesystem: Path) -> Cut:
    """Write with a server, cut the power, and return the acknowledgements and the server's data."""

    def made(kind: str) -> tuple[bytes, Path]:
        words = ("powercut", "write", filesystem, "--set", f"writes={kind}", "--set", "file=131072")
        writer = headless.start(*words, environment=require(kind))
        assert writer.stdout is not None and writer.stderr is not None
        log = writer.stdout.readline()
        assert log, writer.stderr.read()
        while log.count(b"ack ") < 100:
            line = writer.stdout.readline()
            assert b"end " not in line and line, line
            log += line
        processes = psutil.Process(writer.pid).children(recursive=True)
        own_filesystem.cut_power(str(filesystem))
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes)
        writer.communicate()
        unmount(filesystem)
        # a mount namespace of another process may still hold the filesystem that was shut down
        left = str(filesystem.with_name("left"))
        own_filesystem.copy_image(str(filesystem.with_name("image")), left)
        own_filesystem.mount(left, str(filesystem))
        return log, Path(json.loads(log.partition(b"\n")[0])["directory"]) / "w0"

    return made


def verified(directory: Path, log: bytes, kind: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    words = ("powercut", "verify", directory, "--storage-was-cut", "--format", "json")
    return prefork.run(*words, data=log, environment=require(kind) | environment)


@pytest.mark.parametrize("kind", KINDS)
def test_committed_rows_survive_a_power_cut(kind: str, cut: Cut, filesystem: Path) -> None:
    log, data = cut(kind)
    before = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    run = json.loads(verified(filesystem, log, kind).stdout)
    figures = run["steps"][0]["figures"]
    assert (run["verdict"], figures["checked"], figures["not_recovered"]) == ("kept", 32, "")
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == before


@pytest.mark.parametrize("kind", KINDS)
def test_server_that_does_not_start_again_is_a_loss(kind: str, cut: Cut, filesystem: Path) -> None:
    log, data = cut(kind)
    (data / CONTROL_FILE[kind]).write_bytes(bytes(8192))
    done = verified(filesystem, log, kind)
    assert not done.stderr
    run = json.loads(done.stdout)
    figures = run["steps"][0]["figures"]
    assert run["verdict"] == "lost" and figures["unreadable"] + figures["in_flight"] == 32
    assert "A database server did not start again with its data: " in run["sentence"]
    assert "The end of its log: " in run["sentence"]


def test_lack_of_room_for_the_copy_is_no_loss(cut: Cut, filesystem: Path, tmp_path: Path) -> None:
    log, _ = cut("postgresql")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=True)
    try:
        done = verified(filesystem, log, "postgresql", TMPDIR=str(small))
    finally:
        unmount(small)
    assert done.returncode == 2 and b"has no room for a copy of the database" in done.stderr


def test_server_that_never_starts_here_proves_nothing(tmp_path: Path) -> None:
    require("postgresql")
    settings: dict[str, Any] = {**asyncio.run(server_settings("postgresql")), "argv": ["/bin/false"]}
    (tmp_path / "w0").mkdir()
    stream = Stream.make(0, "fdatasync", "postgresql", 4096, 8192)
    copies = held(tmp_path).as_settings
    request = {"directory": str(tmp_path), "run": "00" * 8, "streams": [stream], "last": {0: 2}, "copies": copies}
    done = subprocess.run(
        children.command("powercut.readback"), input=json.dumps({**request, "servers": {"postgresql": settings}}),
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert "does not start with new data either" in done.stdout and "checked" not in done.stdout
