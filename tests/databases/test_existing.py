"""A server that is there already: it lends a database, is only read, and is left as it was."""

from __future__ import annotations

import socket
from pathlib import Path

import msgspec
import pytest

from fstui.databases import leftovers
from fstui.databases.throwaway import Throwaway
from fstui.model import Run
from fstui.state import ledger
from tests.databases import servers
from tests.databases.servers import GIB
from tests.storage import disks, headless

PASSWORD = "it's a # secret"
ONE = "workload=oltp_update_index"


async def grant(server: Throwaway) -> None:
    quoted = PASSWORD.replace("'", "''")
    await servers.ask(
        server,
        f"CREATE USER 'app'@'localhost' IDENTIFIED BY '{quoted}'",
        "GRANT ALL ON `fstui\\_%`.* TO 'app'@'localhost'",
    )


async def test_it_gets_a_database_of_its_own_that_is_gone_afterwards(workshop: Path, own_user: Path) -> None:
    servers.needed("mariadb")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing("mariadb", storage.directory / "theirs", sync_binlog=1) as server:
            await grant(server)
            before = await servers.ask(server, "SHOW DATABASES")
            target = storage.directory / "target"
            target.mkdir()
            reach = ("server=mariadb", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(target, *reach, password=PASSWORD)
            assert code == 0, story
            assert await servers.ask(server, "SHOW DATABASES") == before
        run = msgspec.json.decode(out, type=Run)
        step = headless.step_named(run, "oltp_update_index")
        described = step.figures["server"]
        assert (described["where"], described["on_target"]) == ("existing", True)
        assert described["variables"]["innodb_flush_log_at_trx_commit"] == "1"
        assert step.settings["options"] == {}  # nothing was set there
        assert step.syncs == step.ops > 0
        assert headless.accused_of(run) == set()
        saved = (own_user / ".local/state/fstui/runs").iterdir()
        for text in (out.decode(), story, *(path.read_text() for path in saved)):
            assert PASSWORD not in text
        assert ledger.entries() == []


async def test_over_a_network_its_settings_are_read_and_nothing_is_said_of_the_disk(workshop: Path) -> None:
    servers.needed("mariadb")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        taken.close()
        listening = {"skip_networking": 0, "bind_address": "127.0.0.1", "port": port}
        async with servers.existing("mariadb", storage.directory / "theirs", sync_binlog=1, **listening) as server:
            await servers.ask(server, "CREATE USER 'app'@'%'", "GRANT ALL ON `fstui\\_%`.* TO 'app'@'%'")
            reach = ("server=mariadb", "host=127.0.0.1", f"port={port}", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach)
            assert code == 0, story
        step = headless.step_named(msgspec.json.decode(out, type=Run), "oltp_update_index")
        assert step.figures["server"]["on_target"] is False
        assert step.figures["server"]["variables"]["sync_binlog"] == "1"
        assert step.ops > 0 and step.syncs == 0


async def test_its_settings_are_judged(workshop: Path) -> None:
    servers.needed("postgresql")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing("postgresql", storage.directory / "theirs", fsync="off") as server:
            await servers.ask(server, "CREATE ROLE app LOGIN CREATEDB")
            reach = ("server=postgresql", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach)
            assert code == 0, story
        run = msgspec.json.decode(out, type=Run)
        assert (run.verdict, headless.accused_of(run)) == ("not-durable", {"commits-without-flushes"})
        (found,) = (finding for finding in run.findings if finding.rule == "commits-without-flushes")
        assert found.scope == "process" and "fsync = off" in found.title


async def test_a_preloaded_library_in_the_server_alone_is_found(
    workshop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.needed("mariadb")
    library = next(iter(sorted(Path("/usr/lib").glob("*/libeatmydata.so*"))), None)
    if library is None:
        pytest.skip("libeatmydata is missing: apt-get install libeatmydata1")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        monkeypatch.setenv("LD_PRELOAD", str(library))
        async with servers.existing("mariadb", storage.directory / "theirs", sync_binlog=1) as server:
            monkeypatch.delenv("LD_PRELOAD")
            await grant(server)
            reach = ("server=mariadb", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach, password=PASSWORD)
            assert code == 0, story
        run = msgspec.json.decode(out, type=Run)
        assert (run.verdict, headless.accused_of(run)) == ("not-durable", {"commits-without-flushes"})
        assert "libeatmydata" in run.sentence


async def test_what_it_says_no_to_is_one_sentence(workshop: Path) -> None:
    servers.needed("mariadb")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing("mariadb", storage.directory / "theirs") as server:
            await grant(server)
            reach = ("server=mariadb", f"socket={server.connection.socket}", ONE)
            code, out, story = await servers.run(storage.directory, *reach, "user=app", password="wrong")
            assert (code, out) == (2, b"")
            assert story.count("\n") == 1 and "Access denied" in story and "FSTUI_DB_PASSWORD" in story
            await servers.ask(server, "CREATE USER 'poor'@'localhost'")
            code, out, story = await servers.run(storage.directory, *reach, "user=poor")
            assert (code, out) == (2, b"") and "Access denied" in story and story.count("\n") == 1
        assert servers.left_in(storage.directory) == ["theirs"]
        assert ledger.entries() == []


async def test_a_database_left_by_a_killed_run_is_dropped_and_no_other(workshop: Path) -> None:
    servers.needed("mariadb")
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing("mariadb", storage.directory / "theirs") as server:
            await servers.ask(server, "CREATE DATABASE fstui_dead", "CREATE DATABASE fstui_living")
            left = msgspec.structs.replace(server.connection, database="fstui_dead")
            entry = ledger.enter("dead", kind="database", what=msgspec.json.encode(left).decode())
            assert await leftovers.remove(entry) is None
            names = {name for (name,) in await servers.ask(server, "SHOW DATABASES")}
            assert "fstui_dead" not in names and "fstui_living" in names
        assert entry not in ledger.entries()


async def test_a_server_that_does_not_answer_keeps_its_database_in_the_ledger(workshop: Path) -> None:
    servers.needed("mariadb")
    nobody = {"driver": "mysql", "socket": str(workshop / "none"), "user": "app", "database": "fstui_dead"}
    entry = ledger.enter("dead", kind="database", what=msgspec.json.encode(nobody).decode())
    sentence = await leftovers.remove(entry)
    assert sentence and "fstui_dead" in sentence and "was not dropped" in sentence
    assert entry in ledger.entries()
