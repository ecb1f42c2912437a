"""Hosts that are namespaces, each with its own network, mounts, processes, host name and real sshd. Needs root.

Their addresses exist only within the namespaces, so the client runs in a namespace, too.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.real import disks, hanging_fuse
from tests.real.processes import eventually

PREFIX = f"fstui{os.getpid()}"
"""It contains the process id, because several tests may run at the same time."""
HUB = f"{PREFIX}-hub"
NETWORK = "10.77"
FSTUI = str(Path(sys.executable).with_name("fstui"))
_SSHD = """ListenAddress {address}
Port 22
HostKey {keys}/host
AuthorizedKeysFile {keys}/user.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PrintMotd no
PidFile none
MaxStartups 100
SetEnv XDG_STATE_HOME={state} HOME={home} {environment}
{more}
"""
_BEGIN = """set -e
hostname {name}
mount --bind {private} {workshop}/private
{setup}
exec {sshd} -D -e -f {config}
"""
DROPS = """case "$SSH_ORIGINAL_COMMAND" in *"say begin"*) (sleep 1; kill -9 $PPID) & ;; esac
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""
_RUN_COMMAND = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'
NO_PYTHON = "for one in /usr/bin/python3*; do [ -h $one ] || mount --bind /dev/null $one; done"


class HostSetup(NamedTuple):
    storage: Path | None = None
    """The directory that is mounted at the target."""
    setup: str = ""
    """Shell commands that run on the host as root before its sshd starts."""
    forced: str = ""
    """A shell script that replaces every command (sshd_config(5), ForceCommand)."""
    environment: str = ""
    banner: str = ""
    """Text that the login shell prints first."""


class Hosts(NamedTuple):
    workshop: Path
    ssh: str
    """The command for ``--ssh``."""
    target: Path
    within: tuple[str, ...]
    """The prefix of a command that connects to the hosts."""
    names: tuple[str, ...]

    def fleet(self, *arguments: str, **how: object) -> subprocess.CompletedProcess[str]:
        """Run ``fstui fleet`` in their network."""
        words = [*self.within, FSTUI, "fleet", *arguments, "--ssh", self.ssh]
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **how)  # type: ignore[call-overload,no-any-return]

    def begun(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``fstui fleet`` in their network."""
        words = [*self.within, FSTUI, "fleet", *arguments, "--ssh", self.ssh]
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def private(self, name: str) -> Path:
        """Return what is mounted at ``workshop/private`` on that host."""
        return self.workshop / f"private-{name}"

    def left(self, name: str) -> list[str]:
        """Return what fstui left on that host: processes, and files in the directory of fstui.pyz."""
        commands = [_command(pid) for pid in _processes(name) if not _is_ending(pid)]
        found = [
            command for command in commands if "fstui" in command and "sshd" not in command and "hanging" not in command
        ]
        return found + [str(path) for path in self.private(name).glob("place/**/*") if path.is_file()]


@contextmanager
def hosts(workshop: Path, made: Mapping[str, HostSetup]) -> Iterator[Hosts]:
    """Start all hosts. At the end, remove them and everything that runs in them."""
    sshd = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")
    if sshd is None or shutil.which("ip") is None or shutil.which("ssh-keygen") is None:
        pytest.skip("sshd, ssh-keygen or ip is missing: apt-get install openssh-server openssh-client iproute2")
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    keys, target = workshop / "keys", workshop / "target"
    for directory in (keys, target, workshop / "private"):
        directory.mkdir()
    for key in ("host", "user"):
        disks.sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / key)
    with ExitStack() as down:
        down.enter_context(_namespace_made(HUB))
        _in(HUB, "ip", "link", "set", "lo", "up")
        _in(HUB, "ip", "link", "add", "bridge", "type", "bridge")
        _in(HUB, "ip", "address", "add", f"{NETWORK}.0.1/24", "dev", "bridge")
        _in(HUB, "ip", "link", "set", "bridge", "up")
        addresses = {name: f"{NETWORK}.0.{number}" for number, name in enumerate(made, 11)}
        for name, how in made.items():
            down.enter_context(_up(workshop, sshd, name, addresses[name], how))
        config = _client(workshop, addresses)
        within = ("ip", "netns", "exec", HUB, "env", f"XDG_CONFIG_HOME={workshop}/config")
        yield Hosts(workshop, f"ssh -F {config}", target, within, tuple(made))


def _client(workshop: Path, addresses: Mapping[str, str]) -> Path:
    keys = workshop / "keys"
    host = (keys / "host.pub").read_text().split()
    (keys / "known").write_text("".join(f"{one} {host[0]} {host[1]}\n" for one in addresses.values()))
    lines = [f"Host {name}\n  HostName {address}" for name, address in addresses.items()]
    lines += [
        f"Host *\n  User root\n  IdentityFile {keys}/user\n  IdentitiesOnly yes\n  UserKnownHostsFile {keys}/known"
    ]
    lines += ["  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"]
    (workshop / "ssh_config").write_text("\n".join(lines))
    return workshop / "ssh_config"


@contextmanager
def _up(workshop: Path, sshd: str, name: str, address: str, how: HostSetup) -> Iterator[None]:
    namespace, private = _namespace(name), workshop / f"private-{name}"
    for part in ("state", "home", "place"):
        (private / part).mkdir(parents=True)
    with _namespace_made(namespace):
        link = f"to-{name}"
        _in(HUB, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _in(HUB, "ip", "link", "set", link, "master", "bridge")
        _in(HUB, "ip", "link", "set", link, "up")
        _in(namespace, "ip", "link", "set", "lo", "up")
        _in(namespace, "ip", "address", "add", f"{address}/24", "dev", "eth0")
        _in(namespace, "ip", "link", "set", "eth0", "up")
        config = _config(workshop, name, address, how)
        setup = how.setup
        if how.storage:
            setup = f"mount --bind {how.storage} {workshop}/target\n{setup}"
        script = _BEGIN.format(name=name, private=private, workshop=workshop, setup=setup, sshd=sshd, config=config)
        own = ("unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
        with (workshop / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", namespace, *own, "sh", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            try:
                listening = lambda: ":22 " in _in(namespace, "ss", "-Hltn")  # noqa: E731
                assert eventually(listening), (workshop / f"{name}.log").read_text()
                yield
            finally:
                process.kill()
                process.wait()


def _config(workshop: Path, name: str, address: str, how: HostSetup) -> Path:
    more = []
    if how.forced or how.banner:
        script = workshop / f"{name}.sh"
        banner = f"printf '%s\\n' '{how.banner}'\n" if how.banner else ""
        script.write_text(f"#!/bin/sh\n{banner}{how.forced or _RUN_COMMAND}\n")
        script.chmod(0o755)
        more.append(f"ForceCommand {script}")
    private = workshop / "private"
    text = _SSHD.format(
        address=address,
        keys=workshop / "keys",
        state=private / "state",
        home=private / "home",
        environment=how.environment,
        more="\n".join(more),
    )
    (workshop / f"{name}.conf").write_text(text)
    return workshop / f"{name}.conf"


@contextmanager
def _namespace_made(name: str) -> Iterator[None]:
    disks.sh("ip", "netns", "add", name)
    try:
        yield
    finally:
        disks.sh("ip", "netns", "delete", name)


def _namespace(name: str) -> str:
    return f"{PREFIX}-{name}"


def _in(namespace: str, *words: str) -> str:
    return disks.sh("ip", "netns", "exec", namespace, *words)


def _processes(name: str) -> list[str]:
    return disks.sh("ip", "netns", "pids", _namespace(name)).split()


def _is_ending(pid: str) -> bool:
    """Return whether a SIGKILL is pending for the process, as for one whose disk hangs (proc_pid_status(5))."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return True
    pending = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(mask >> (signal.SIGKILL - 1) & 1 for mask in pending)


def _command(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def hanging_mount(workshop: Path) -> str:
    """Return shell commands that mount a filesystem at the target that never responds."""
    until = f"until grep -q ' {workshop}/target ' /proc/self/mountinfo; do sleep 0.1; done"
    (workshop / "command").write_text("all")
    server = f"{sys.executable} {hanging_fuse.__file__} {workshop}/target / {workshop}/command"
    return f"FUSE_LIBRARY_NAME=fuse3 {server} >/dev/null &\n{until}"


def release(workshop: Path, up: Hosts) -> None:
    """Let the hanging filesystem respond, and wait for the killed processes, which would outlive the test."""
    (workshop / "command").write_text("")
    eventually(lambda: not any(_is_ending(pid) for name in up.names for pid in _processes(name)))


def pyz_file(workshop: Path) -> Path:
    """Return a file that starts the fstui of this checkout: building the real file takes minutes."""
    file = workshop / "carried.pyz"
    file.write_text(f'#!/bin/sh\nexec {FSTUI} "$@"\n')
    return file
