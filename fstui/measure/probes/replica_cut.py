"""Probe: a primary and its replica, clients that commit, the primary's sudden end, and what each has afterwards.

Settings: those of its kind of step, what ``fstui.databases.replicas.told`` adds, ``directory`` and its ``identity``
(the run's own, which it enters). The witness is the client: sysbench says ``ack CLIENT NUMBER`` after each answer, and
these lines outlive both servers. A power cut is SIGKILL and, at once, the kernel's shutdown of their filesystem: nobody
acknowledges anything after it.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import Any, NoReturn

from fstui.measure.probes import own_filesystem
from fstui.measure.probes.replica_server import Server
from fstui.measure.probes.sysbench_program import Trouble, die_with_us, reason, telling_trouble
from fstui.measure.wire.held import enter
from fstui.measure.wire.talk import CommandLines, clock, interrupted, probe_settings, send

LATE_S = 60
LOOK_S = 0.25
TEMPLATE_STEPS = 5
"""Of its preparation: what is said of how far it is."""


class Pair:
    """Both servers, each on a filesystem of its own."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.place = own_filesystem.set_apart()
        self.primary = Server(settings, "primary", f"{self.place}/primary", self.check)
        self.replica = Server(settings, "replica", f"{self.place}/replica", self.check)
        self.both = (self.primary, self.replica)
        self.commands: CommandLines | None = None
        self.done = 0

    def check(self) -> None:
        """Raises SystemExit where the engine wants no more of it."""
        if self.commands is None:
            send("preparing", done=self.done, total=TEMPLATE_STEPS)
            if interrupted():
                raise SystemExit(1)
        elif self.commands.ended_meanwhile(self.never, 0) or self.commands.stop_wanted:
            raise SystemExit(1)

    def listen(self, commands: CommandLines) -> None:
        """From ``ready`` on the engine's words come one by one."""
        self.never, self._never_in = os.pipe()
        self.commands = commands

    def prepare(self) -> None:
        """Make, start and join them. Raises Trouble, OSError."""
        template = f"{self.settings['server']}.image"  # made once in a run
        if not os.path.exists(template):
            self.make(template)
        for server in self.both:
            own_filesystem.copy_image(template, image_of(server))
            own_filesystem.mount(image_of(server), server.mounted)
            self.step()
        self.primary.start(self.settings["argv"]["primary"])
        self.primary.ask(*self.settings["make"])
        self.replica.start(self.settings["argv"]["replica"])
        self.step()
        self.replica.ask(*self.settings["follow"])
        made = f"SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{self.settings['database']}'"
        self.replica.ask_until(made, "1", "did not follow the primary")
        if self.settings["joined"]:
            self.primary.ask_until(self.settings["joined"], "1", "saw no semi-synchronous replica")
        for server in self.both:  # what is lost is lost of what follows
            own_filesystem.sync(server.mounted)
        send(
            "figures",
            title=self.settings["title"],
            primary_settings=self.primary.settings(),
            replica_settings=self.replica.settings(),
        )

    def make(self, template: str) -> None:
        """An image with an empty server. Only a whole one gets the name."""
        own_filesystem.make_image("new.image", self.settings["image_bytes"])
        self.step()
        first = self.primary
        own_filesystem.mount("new.image", first.mounted, "barrier=0")  # it is cut by nobody
        first.prepare()
        own_filesystem.unmount(first.mounted)
        os.rename("new.image", template)
        self.step()

    def step(self) -> None:
        self.done += 1
        self.check()

    def cut(self) -> None:
        """In the middle of acknowledged commits."""
        cut = self.settings["cut"]
        dying = self.both if cut == "power cut of both" else (self.primary,)
        for server in dying:
            server.kill()
        if cut != "kill -9":
            for server in dying:  # before any of them could be waited for: time is what dirty pages are written in
                own_filesystem.cut_power(server.mounted)
        for server in dying:
            server.wait()
            if cut != "kill -9":
                own_filesystem.unmount(server.mounted)
                own_filesystem.mount(image_of(server), server.mounted)

    def recover(self) -> None:
        """Start the primary again, without its replica.

        A replica that was not cut first applies all that it has received. One that was cut starts again without
        replication and applies nothing more.
        """
        if self.replica.process is None:
            self.replica.start(self.settings["argv"]["replica again"])
        else:
            self.replica.ask(self.settings["no_more"])
            self.replica.ask_until(self.settings["applied"], "1", "had not applied what it has received")
        self.primary.start(self.settings["argv"]["primary again"])

    def end(self) -> None:
        """Nothing of them is left but the images, which go with the run's directory."""
        for server in self.both:
            server.kill()
        for server in self.both:
            server.wait()
            with contextlib.suppress(OSError):
                own_filesystem.cut_power(server.mounted)  # nothing of it is wanted any more: it need not be written
                own_filesystem.unmount(server.mounted)


def image_of(server: Server) -> str:
    return f"{server.role}.image"


class Clients:
    """The witness: all that was acknowledged to them."""

    def __init__(self, pair: Pair) -> None:
        settings = pair.settings
        self.acknowledged: set[tuple[int, int]] = set()
        self.text: list[str] = []
        self._rest = b""
        self.started_ns = clock()
        self.process = subprocess.Popen(
            [
                *(settings["sysbench"], "./acknowledged.lua", *pair.primary.connection),
                *(f"--mysql-db={settings['database']}", f"--threads={settings['clients']}", "--time=0", "--events=0"),
                "run",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "LC_ALL": "C"},
            preexec_fn=die_with_us,  # noqa: PLW1509  no thread of ours runs
        )
        assert self.process.stdout is not None
        self.fd = self.process.stdout.fileno()

    def hear(self) -> bool:
        """What they said by now; False at their end."""
        data = os.read(self.fd, 65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"ack "):
                _, client, number = line.split()
                self.acknowledged.add((int(client), int(number)))
            else:
                self.text.append(line.decode(errors="replace"))
        return bool(data)

    def commit(self, seconds: float, commands: CommandLines) -> None:
        """So long. Raises Trouble where they end before, SystemExit at a stop."""
        until_ns = self.started_ns + int(seconds * 1e9)
        limit_ns = until_ns + LATE_S * 1_000_000_000
        while (now_ns := clock()) < until_ns or not self.acknowledged:
            left_s = (until_ns - now_ns) / 1e9
            heard = commands.readable_meanwhile(self.fd, min(LOOK_S, left_s) if left_s > 0 else LOOK_S)
            if heard and not self.hear():
                raise Trouble(reason(self.text))
            if commands.stop_wanted:
                raise SystemExit(1)
            if now_ns > limit_ns:
                raise Trouble(f"nothing was acknowledged for {LATE_S} s")

    def end(self) -> None:
        """They see the primary gone and end; what was acknowledged to them before is heard."""
        while self.hear():
            pass
        self.process.wait()


def compared(acknowledged: set[tuple[int, int]], pair: Pair) -> dict[str, Any]:
    """Against what each server has. Raises Trouble."""
    primary, replica = (server.transactions() for server in pair.both)
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


def measure(pair: Pair, settings: dict[str, Any]) -> None:
    """Raises Trouble, OSError; SystemExit at a stop."""
    commands = CommandLines()
    send("ready")
    pair.listen(commands)
    if not commands.wait_for("go"):
        return
    clients = Clients(pair)
    clients.commit(settings["seconds"], commands)
    if settings["still_semi"] and pair.primary.ask(settings["still_semi"])[0][-1] != "ON":
        raise Trouble("the primary went on without its replica: it is not semi-synchronous any more")
    ended_ns = clock()
    pair.cut()
    clients.end()
    pair.recover()
    send("figures", **compared(clients.acknowledged, pair))
    send("done", start_ns=clients.started_ns, end_ns=ended_ns, held_ns=0)
    commands.wait_for_end()


def main() -> NoReturn:
    settings = probe_settings()
    with telling_trouble("replica-cut", "prepare the servers"):
        enter(settings["directory"], settings["identity"])
        for name, text in settings["scripts"].items():
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        pair = Pair(settings)
        try:
            pair.prepare()
            measure(pair, settings)
        finally:
            pair.end()
    sys.exit(0)


if __name__ == "__main__":
    main()
