"""An existing server provides one database; nothing else on it is changed."""

import asyncio
import contextlib
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fstui.databases import leftovers
from fstui.databases.throwaway import ThrowawayServer
from fstui.measure.kinds.documents import decode_run
from fstui.state import ledger
from tests.databases import servers
from tests.databases.servers import GIB
from tests.real import disks, headless

DATABASES_PAGE = (Path(__file__).resolve().parents[2] / "fstui/docs/databases.md").read_text()
PASSWORD = "it's a # secret"
_DATABASES = "SELECT schema_name FROM information_schema.SCHEMATA"
ONE = "workload=oltp_update_index"


async def grant(server: ThrowawayServer) -> None:
    """Run the statements that the documentation gives to the server's administrator."""
    word = "CREATE ROLE" if server.connection.driver == "pgsql" else "CREATE USER"
    (shown,) = (block for block in re.findall(r"```sql\n(.*?)```", DATABASES_PAGE, re.DOTALL) if word in block)
    quoted = PASSWORD.replace("'", "''")
    named = shown.replace("'PASSWORD'", f"'{quoted}'").replace("'fstui'@", "'app'@").replace("ROLE fstui ", "ROLE app ")
    await servers.query(server, *(statement.removesuffix(";") for statement in named.splitlines()))


async def test_run_gets_a_database_that_is_dropped_afterwards(workshop: Path, own_user: Path) -> None:
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing_server("mariadb", storage.directory / "existing", sync_binlog=1) as server:
            await grant(server)
            before = await servers.query(server, "SHOW DATABASES")
            target = storage.directory / "target"
            target.mkdir()
            reach = ("server=mariadb", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(target, *reach, password=PASSWORD)
            assert code == 0, story
            assert await servers.query(server, "SHOW DATABASES") == before
        run = decode_run(out)
        step = headless.step_named(run, "oltp_update_index")
        described = servers.server_of(step)
        assert (described.where, described.on_target) == ("existing", True)
        assert described.variables["innodb_flush_log_at_trx_commit"] == "1"
        assert servers.settings_of(step).options == {}  # no option was changed
        assert step.syncs == step.ops > 0
        assert headless.rules_against(run) == set()
        saved = (own_user / ".local/state/fstui/runs").iterdir()
        for text in (out.decode(), story, *(path.read_text() for path in saved)):
            assert PASSWORD not in text
        assert ledger.entries() == []


async def test_server_at_a_port_is_located_unless_it_is_forwarded(workshop: Path) -> None:
    port = free_port()
    listening = {"skip_networking": 0, "bind_address": "127.0.0.1", "port": port}
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing_server(
            "mariadb", storage.directory / "existing", sync_binlog=1, **listening
        ) as server:
            await servers.query(server, "CREATE USER 'app'@'%'", "GRANT ALL ON `fstui\\_%`.* TO 'app'@'%'")
            reach = ("server=mariadb", "host=127.0.0.1", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach, f"port={port}")
            assert code == 0, story
            here = decode_run(out)
            async with relayed(port) as tunnel:
                code, out, story = await servers.run(storage.directory, *reach, f"port={tunnel}")
                assert code == 0, story
            elsewhere = decode_run(out)
    step = headless.step_named(here, "oltp_update_index")
    assert servers.server_of(step).on_target and step.syncs == step.ops > 0
    assert here.target and here.target.stack

    step = headless.step_named(elsewhere, "oltp_update_index")
    assert servers.server_of(step).on_target is False
    assert servers.server_of(step).variables["sync_binlog"] == "1"
    assert step.ops > 0 and step.syncs == 0
    assert elsewhere.target and (elsewhere.target.path, elsewhere.target.stack) == (f"127.0.0.1:{tunnel}", ())
    assert elsewhere.verdict == "cannot-tell" and "in a place that is not known" in elsewhere.sentence
    skipped = {(step.status, step.reason) for step in elsewhere.steps if step.name in {"fdatasync", "O_DSYNC"}}
    assert skipped == {("skipped", f"the data of 127.0.0.1:{tunnel} was not found on this filesystem")}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@asynccontextmanager
async def relayed(port: int) -> AsyncIterator[int]:
    """Forward a port: the process that listens is no database server."""

    async def pass_on(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pass_on(reader, server_writer), pass_on(server_reader, writer))

    tunnel = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield tunnel.sockets[0].getsockname()[1]
    finally:
        tunnel.close()


async def test_plan_describes_an_existing_server_and_makes_nothing(workshop: Path) -> None:
    existing = workshop / "existing"
    async with servers.existing_server("mariadb", existing, sync_binlog=1) as server:
        await servers.query(server, "CREATE USER 'app'@'localhost'")
        before = await servers.query(server, _DATABASES)
        reach = ("server=mariadb", f"socket={server.connection.socket}", "user=app", ONE)
        code, out, story = await servers.run(workshop, *reach, plan=True)
        assert code == 0, story
        names = await servers.query(server, _DATABASES)
        code, refused, _ = await servers.run(workshop, *reach[:2], "user=nobody-here", ONE, plan=True)
    output = " ".join(out.decode().split())
    assert "MariaDB 1" in output and "sync_binlog = 1, innodb_flush_log_at_trx_commit = 1" in output
    assert "its data is stored in" in output and "it keeps a binary log" in output
    assert str(existing) in "".join(out.decode().split())
    assert names == before
    said = " ".join(refused.decode().split())
    assert code == 0 and "the server does not answer" in said and "Access denied" in said
    assert ledger.entries() == []


async def test_settings_of_an_existing_server_are_judged(workshop: Path) -> None:
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        alone = servers.without_disk_steps(storage.directory)
        async with servers.existing_server("postgresql", storage.directory / "existing", fsync="off") as server:
            await grant(server)
            await servers.query(server, "CREATE ROLE poor LOGIN")
            reach = ("server=postgresql", f"socket={server.connection.socket}", "user=poor", ONE)
            code, _, story = await servers.run(storage.directory, *reach, scenario=alone)
            assert code == 2 and "permission denied to create database" in story and "CREATEDB" in story
            reach = ("server=postgresql", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach, scenario=alone)
            assert code == 0, story
        run = decode_run(out)
        assert (run.verdict, headless.rules_against(run)) == ("not-durable", {"commits-without-flushes"})
        (found,) = (finding for finding in run.findings if finding.rule == "commits-without-flushes")
        assert found.scope == "process" and "fsync = off" in found.title


async def test_preloaded_library_in_the_server_alone_is_found(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = disks.eatmydata()
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        monkeypatch.setenv("LD_PRELOAD", library)
        async with servers.existing_server("mariadb", storage.directory / "existing", sync_binlog=1) as server:
            monkeypatch.delenv("LD_PRELOAD")
            await grant(server)
            reach = ("server=mariadb", f"socket={server.connection.socket}", "user=app", ONE)
            code, out, story = await servers.run(storage.directory, *reach, password=PASSWORD)
            assert code == 0, story
        run = decode_run(out)
        assert (run.verdict, headless.rules_against(run)) == ("not-durable", {"commits-without-flushes"})
        assert "libeatmydata" in run.sentence


async def test_option_file_supplies_tls(workshop: Path, own_user: Path) -> None:
    keys = workshop / "keys"
    certificates(keys)
    secured = {f"ssl_{what}": str(keys / f"{name}.pem") for what, name in (("ca", "ca"), ("cert", "it"), ("key", "it"))}
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        alone = servers.without_disk_steps(storage.directory)
        async with servers.existing_server("mariadb", storage.directory / "existing", **secured) as server:
            await servers.query(
                server,
                "CREATE USER 'app'@'localhost' IDENTIFIED BY 'secret' REQUIRE X509",
                "GRANT ALL ON `fstui\\_%`.* TO 'app'@'localhost'",
            )
            mine = f"[client]\nuser=app\npassword=secret\nsocket={server.connection.socket}\n"
            (own_user / ".my.cnf").write_text(mine)
            chosen = ("server=mariadb", "login_path=client", "workload=oltp_insert")
            code, out, story = await servers.run(storage.directory, *chosen, scenario=alone)
            assert (code, out) == (2, b"") and "if the account requires TLS, set ssl-ca, ssl-cert and ssl-key" in story
            files = f"ssl-ca={keys}/ca.pem\nssl-cert={keys}/me.pem\nssl-key={keys}/me.pem\n"
            (own_user / ".my.cnf").write_text(mine + files)
            code, out, story = await servers.run(storage.directory, *chosen, scenario=alone)
            assert code == 0, story
            assert servers.left_in(storage.directory) == ["existing"]
        assert headless.step_named(decode_run(out), "oltp_insert").ops > 0
        assert ledger.entries() == []


def certificates(directory: Path) -> None:
    """Make ``ca.pem`` and the signed ``it.pem`` and ``me.pem``, each with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt-get install openssl")
    directory.mkdir(mode=0o755)
    for name in ("ca", "it", "me"):
        signed = [] if name == "ca" else ["-CA", "ca.pem", "-CAkey", "ca.key"]
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        words = ["openssl", "req", "-x509", *key, "-days", "2", "-subj", f"/CN={name}", *signed]
        subprocess.run([*words, "-keyout", f"{name}.key", "-out", f"{name}.crt"], cwd=directory, check=True,
                       capture_output=True)  # fmt: skip
        parts = [(directory / f"{name}.{end}").read_bytes() for end in ("crt", "key")]
        (directory / f"{name}.pem").write_bytes(b"".join(parts))
        (directory / f"{name}.pem").chmod(0o644)


async def test_refusal_of_an_existing_server_is_one_sentence(workshop: Path) -> None:
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing_server("mariadb", storage.directory / "existing") as server:
            await grant(server)
            reach = ("server=mariadb", f"socket={server.connection.socket}", ONE)
            code, out, story = await servers.run(storage.directory, *reach, "user=app", password="wrong")
            assert (code, out) == (2, b"")
            assert story.count("\n") == 1 and "Access denied" in story and "FSTUI_DB_PASSWORD" in story
            await servers.query(server, "CREATE USER 'poor'@'localhost'")
            code, out, story = await servers.run(storage.directory, *reach, "user=poor")
            assert (code, out) == (2, b"") and "Access denied" in story and story.count("\n") == 1
            await servers.query(
                server,
                "CREATE USER 'maker'@'localhost'",
                "GRANT CREATE, SELECT, INSERT ON `fstui\\_%`.* TO 'maker'@'localhost'",
                "CREATE USER 'reader'@'localhost'",
                "GRANT CREATE, DROP, SELECT ON `fstui\\_%`.* TO 'reader'@'localhost'",
            )
            before = await servers.query(server, "SHOW DATABASES")
            for user in ("maker", "reader"):
                code, out, story = await servers.run(storage.directory, *reach, f"user={user}")
                assert (code, out) == (2, b"") and "denied" in story and "GRANT ALL" in story, story
            assert await servers.query(server, "SHOW DATABASES") == before
        assert servers.left_in(storage.directory) == ["existing"]
        assert ledger.entries() == []


async def test_only_the_database_of_a_killed_run_is_dropped(workshop: Path) -> None:
    with disks.on_loop(workshop, size_bytes=2 * GIB) as storage:
        async with servers.existing_server("mariadb", storage.directory / "existing") as server:
            await servers.query(server, "CREATE DATABASE fstui_dead", "CREATE DATABASE fstui_living")
            await servers.query(server, "CREATE TABLE fstui_living.precious (id INTEGER)")
            existing = replace(server.connection, database="fstui_living")
            planted = ledger.write_entry("living", kind="database", what=msgspec.json.encode(existing).decode())
            assert "so fstui did not create it" in (await leftovers.remove(planted) or "")
            renamed = replace(planted, run="dead")
            assert "not removed" in (await leftovers.remove(renamed) or "")
            ledger.delete_entry(planted)
            left = replace(server.connection, database="fstui_dead")
            entry = ledger.write_entry("dead", kind="database", what=msgspec.json.encode(left).decode())
            assert leftovers.label(entry) == f"database fstui_dead on socket {server.connection.socket}"
            assert await leftovers.remove(entry) is None
            names = {name for (name,) in await servers.query(server, "SHOW DATABASES")}
            assert "fstui_dead" not in names and "fstui_living" in names
        assert entry not in ledger.entries()


async def test_database_on_a_silent_server_stays_in_the_ledger(workshop: Path) -> None:
    servers.require("mariadb")
    nobody = {"driver": "mysql", "socket": str(workshop / "none"), "user": "app", "database": "fstui_dead"}
    entry = ledger.write_entry("dead", kind="database", what=msgspec.json.encode(nobody).decode())
    sentence = await leftovers.remove(entry)
    assert sentence and "fstui_dead" in sentence and "was not dropped" in sentence
    assert entry in ledger.entries()
