"""Probe: let clients commit to a primary with a replica, kill the primary or cut its power, and compare both.

The witness is sysbench: it prints ``ack CLIENT NUMBER`` for each acknowledged commit, and it outlives both servers. To
cut the power, the probe sends SIGKILL and immediately shuts the server's filesystem down. So no commit is acknowledged
after the cut. Settings: those of the step, those that ``fstui.databases.replicas.settings_of`` returns, ``directory``
(the run's directory, where the probe works), and ``identity`` (of that directory).
"""

import contextlib
import os
import pwd
import time
from collections.abc import Callable, Iterator
from typing import Any

from fstui.measure.helpers.server_process import ServerProcess
from fstui.measure.helpers.sysbench_program import find_error, make_files, query, sysbench
from fstui.measure.probes import own_filesystem
from fstui.measure.wire.stdio import CommandLines, ProgramError, clock, exit_if_stopped, run_probe, send

ACK_TIMEOUT_S = 60
COMMAND_POLL_S = 0.25
SERVER_POLL_S = 0.05
START_TIMEOUT_S = 180.0
"""Time limit for the start of a server. It is long, because a slow disk may do only ten syncs per second."""
QUERY_TIMEOUT_S = 60.0
SOCKET = "socket"
PREPARATION_STEPS = 5


class ReplicatedServer:
    def __init__(self, settings: dict[str, Any], role: str, mount_point: str, check: Callable[[], None]) -> None:
        """``check`` raises SystemExit if fstui closed the pipe or sent ``stop``."""
        self.settings = settings
        self.role = role
        self.mount_point = mount_point
        self.image = f"{role}.image"
        self.check = check
        self.data = f"{mount_point}/data"
        self.deadline_s = 0.0
        self.server_process = ServerProcess(self.data, f"{role}.log", settings["user"], self.wait)
        self.connection = ["--db-driver=mysql", f"--mysql-socket={self.data}/{SOCKET}", "--mysql-user=root"]
        self.client_settings = {**settings, "secrets": "", "environment": {}}

    def wait(self, _seconds: float) -> None:
        self.check()
        if time.monotonic() > self.deadline_s:
            raise ProgramError(f"no answer for {START_TIMEOUT_S:.0f} s")
        time.sleep(SERVER_POLL_S)

    @contextlib.contextmanager
    def time_limit(self) -> Iterator[None]:
        """Limit the time of the block to START_TIMEOUT_S, and name the server in errors."""
        self.deadline_s = time.monotonic() + START_TIMEOUT_S
        try:
            yield
        except ProgramError as error:
            raise ProgramError(f"{self.settings['title']}, the {self.role}: {error}") from None

    def prepare(self) -> None:
        os.mkdir(self.data, 0o700)
        account = pwd.getpwnam(self.settings["user"])
        os.chown(self.data, account.pw_uid, account.pw_gid)
        for command in self.settings["prepare"]:
            with self.time_limit():
                self.server_process.prepare(command)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.data}/auto.cnf")  # the id of a MySQL server, which must differ between the copies

    def start(self, *, is_restart: bool = False) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self.data}/{SOCKET}")  # left by the server that was killed
        with self.time_limit():
            argv = self.settings["argv"][f"restart_{self.role}" if is_restart else self.role]
            self.server_process.start(argv, lambda: self.server_process.accepts_connections(SOCKET))

    @property
    def is_running(self) -> bool:
        return self.server_process.process is not None and self.server_process.process.returncode is None

    def kill(self) -> None:
        self.server_process.signal("SIGKILL")

    def reap(self) -> None:
        if self.server_process.process is not None:
            self.server_process.process.wait()

    def query(self, *statements: str) -> list[tuple[str, ...]]:
        client = {**self.client_settings, "connection": [*self.connection, "--mysql-db=information_schema"]}
        with self.time_limit():
            return query(client, *statements, limit_s=QUERY_TIMEOUT_S, check=self.check)

    def wait_for(self, statement: str, failure: str) -> None:
        """Repeat the query until the last field of its first row is 1. After a time limit, raise ProgramError."""
        deadline_s = time.monotonic() + QUERY_TIMEOUT_S
        while not ((rows := self.query(statement)) and rows[0][-1] == "1"):
            self.check()
            if time.monotonic() > deadline_s:
                raise ProgramError(
                    f"{self.settings['title']}, the {self.role}: {failure} within {QUERY_TIMEOUT_S:.0f} s"
                )
            time.sleep(SERVER_POLL_S)

    def transactions(self) -> set[tuple[int, int]]:
        rows = self.query(f"SELECT client, number FROM {self.settings['database']}.commits")
        return {(int(client), int(number)) for client, number in rows}

    def durability(self) -> list[str]:
        """Return the settings that decide durability. Raises ProgramError if they do not have the expected values."""
        expected: dict[str, str] = self.settings["expected"][self.role]
        (values,) = self.query(f"SELECT {', '.join(f'@@{name}' for name in expected)}")
        if list(values) != list(expected.values()):
            raise ProgramError(f"the {self.role} was started with {expected}, but uses {list(values)}")
        return [f"{name} = {value}" for name, value in expected.items()]

    def gtid(self) -> str:
        return "".join(self.query(self.settings["gtid"][self.role])[0]).replace("\n", "")


class ServerPair:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        directory = own_filesystem.isolate_process()
        self.primary = ReplicatedServer(settings, "primary", f"{directory}/primary", self.check)
        self.replica = ReplicatedServer(settings, "replica", f"{directory}/replica", self.check)
        self.servers = (self.primary, self.replica)
        self.commands: CommandLines | None = None
        self.done_steps = 0

    def check(self) -> None:
        """Report progress before ``ready``. Raises SystemExit if fstui closed the pipe or sent ``stop``."""
        if self.commands is None:
            send("preparing", done=self.done_steps, total=PREPARATION_STEPS)
            exit_if_stopped()
        else:
            self.commands.poll()
            if self.commands.stop_requested:
                raise SystemExit(1)

    def count_step(self) -> None:
        self.done_steps += 1
        self.check()

    def prepare(self) -> None:
        template = f"{self.settings['server']}.image"  # the run's first step creates it, and later steps use it
        if not os.path.exists(template):
            self.create_template(template)
        for server in self.servers:
            own_filesystem.copy_image(template, server.image)
            own_filesystem.mount(server.image, server.mount_point)
            self.count_step()
        self.primary.start()
        self.primary.query(*self.settings["set_up_primary"])
        self.replica.start()
        self.count_step()
        self.replica.query(*self.settings["start_replication"])
        table = f"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{self.settings['database']}'"
        self.replica.wait_for(table, "did not follow the primary")
        if self.settings["replica_count"]:
            self.primary.wait_for(self.settings["replica_count"], "saw no semi-synchronous replica")
        for server in self.servers:  # the cut must not lose data of the preparation
            own_filesystem.sync(server.mount_point)
        send(
            "figures",
            title=self.settings["title"],
            primary_settings=self.primary.durability(),
            replica_settings=self.replica.durability(),
        )

    def create_template(self, template: str) -> None:
        """Create an image with an empty server. Rename it to ``template`` when it is complete."""
        own_filesystem.create_image("new.image", self.settings["image_bytes"])
        self.count_step()
        mount_point = self.primary.mount_point
        own_filesystem.mount("new.image", mount_point, "barrier=0")  # faster; the power of this image is never cut
        self.primary.prepare()
        own_filesystem.unmount(mount_point)
        os.rename("new.image", template)
        self.count_step()

    def cut(self) -> None:
        """End the primary, or both servers, while clients are committing."""
        cut = self.settings["cut"]
        cut_servers = self.servers if cut == "power cut of both" else (self.primary,)
        for server in cut_servers:
            server.kill()
        if cut != "kill -9":
            for server in cut_servers:  # before they are reaped: after that, the kernel may write dirty pages back
                own_filesystem.cut_power(server.mount_point)
        for server in cut_servers:
            server.reap()
            if cut != "kill -9":
                own_filesystem.unmount(server.mount_point)
                own_filesystem.mount(server.image, server.mount_point)

    def recover(self) -> None:
        """Start the primary again, without its replica.

        Before that, a running replica applies all transactions that it has received. A replica whose power was cut
        starts again without replication, and applies nothing more.
        """
        if self.replica.is_running:
            self.replica.query(self.settings["stop_receiving"])
            self.replica.wait_for(self.settings["has_applied_all"], "did not apply all transactions")
        else:
            self.replica.start(is_restart=True)
        self.primary.start(is_restart=True)

    def end(self) -> None:
        """Leave only the images, which are removed with the run's directory."""
        for server in self.servers:
            server.kill()
        for server in self.servers:
            server.reap()
            with contextlib.suppress(OSError):
                own_filesystem.cut_power(server.mount_point)  # so that the unmount writes nothing
                own_filesystem.unmount(server.mount_point)


class Clients:
    def __init__(self, pair: ServerPair) -> None:
        settings, primary = pair.settings, pair.primary
        client = {**primary.client_settings, "connection": primary.connection}
        self.acknowledged: set[tuple[int, int]] = set()
        self.started_ns = clock()
        options = (f"--mysql-db={settings['database']}", f"--threads={settings['clients']}", "--time=0", "--events=0")
        self.program = sysbench(client, "run", *options, script="./acknowledged.lua", on_line=self.on_line)

    def on_line(self, line: str) -> bool:
        is_ack = line.startswith("ack ")
        if is_ack:
            _, client, number = line.split()
            self.acknowledged.add((int(client), int(number)))
        return is_ack

    def run_for(self, seconds: float, commands: CommandLines) -> None:
        """Let the clients commit for ``seconds``. Raises SystemExit on ``stop``, and ProgramError if they fail."""
        until_ns = self.started_ns + int(seconds * 1e9)
        deadline_ns = until_ns + ACK_TIMEOUT_S * 1_000_000_000
        while (now_ns := clock()) < until_ns or not self.acknowledged:
            remaining_s = (until_ns - now_ns) / 1e9
            timeout_s = min(COMMAND_POLL_S, remaining_s) if remaining_s > 0 else COMMAND_POLL_S
            if commands.wait_until_readable(self.program.fd, timeout_s) and not self.program.read():
                raise ProgramError(find_error(self.program.text))
            if commands.stop_requested:
                raise SystemExit(1)
            if now_ns > deadline_ns:
                raise ProgramError(f"no commit was acknowledged for {ACK_TIMEOUT_S} s")


def compare(acknowledged: set[tuple[int, int]], pair: ServerPair) -> dict[str, Any]:
    primary, replica = (server.transactions() for server in pair.servers)
    return {
        "acknowledged": len(acknowledged),
        "on_primary": len(primary),
        "on_replica": len(replica),
        "lost_on_primary": len(acknowledged - primary),
        "lost_on_replica": len(acknowledged - replica),
        "lost_everywhere": len(acknowledged - primary - replica),
        "on_replica_alone": len(replica - primary),
        "gtid_primary": pair.primary.gtid(),
        "gtid_replica": pair.replica.gtid(),
    }


def run(pair: ServerPair, settings: dict[str, Any]) -> None:
    """Measure after the preparation. Raises ProgramError, OSError, and SystemExit on ``stop``."""
    commands = pair.commands = CommandLines()
    send("ready")
    if not commands.wait_for("go"):
        return
    clients = Clients(pair)
    clients.run_for(settings["seconds"], commands)
    if settings["semi_status"] and pair.primary.query(settings["semi_status"])[0][-1] != "ON":
        raise ProgramError("the primary continued without its replica: it is no longer semi-synchronous")
    ended_ns = clock()
    pair.cut()
    clients.program.finish()  # the clients end with the primary; read the remaining acknowledgements
    pair.recover()
    send("figures", **compare(clients.acknowledged, pair))
    send("done", start_ns=clients.started_ns, end_ns=ended_ns, delayed_ns=0)
    commands.wait_for_end()


def measure(settings: dict[str, Any]) -> None:
    make_files({**settings, "tls": {}})
    pair = ServerPair(settings)
    try:
        pair.prepare()
        run(pair, settings)
    finally:
        pair.end()


if __name__ == "__main__":
    run_probe(measure, "prepare the servers", "replica-cut")
