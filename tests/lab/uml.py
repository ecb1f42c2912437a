"""A host for power-cut campaigns that boots within seconds without KVM: User-mode Linux with sshd, and a plug.

Its disk is behind a cache that forgets: UML › qemu-storage-daemon (vhost-user-blk) › ``forgetful_fuse.py`` › a file.
Its root filesystem is the image ``ssh``. ``python -m tests.lab.uml on DIRECTORY`` starts them, ``off`` kills them. All
runs as root, in a network namespace of its own.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import msgspec

from tests.lab import LabUnavailable
from tests.lab.image import Image, cached
from tests.lab.machine import MOUNT
from tests.lab.payload import payload
from tests.lab.recipe import RECIPES
from tests.real import forgetful_fuse

KERNEL = Path("/usr/bin/linux.uml")
DRIVERS = tuple(Path("/usr/lib/uml/modules").glob("*/kernel/drivers/block/virtio_blk.ko"))
TOOLS = ("qemu-storage-daemon", "mkfs.ext4", "ssh", "ssh-keygen", "ip")
RECIPE = RECIPES["6.1"]["ssh"]
ADDRESS, TAP = "10.77.9.2", "plug"
START_S = 20.0
_DISK = """insmod /run/lab/virtio_blk.ko
echo 'write back' >/sys/block/vda/cache_type
"""
SSHD = f"""mkdir -p /run/sshd /root/.ssh {MOUNT}
cp /run/lab/key.pub /root/.ssh/authorized_keys
chmod 700 /root /root/.ssh
ip link set lo up
ip link set {{0}} up
ip address add {{1}}/24 dev {{0}}
exec /usr/sbin/sshd -D -e -o UsePAM=no -o StrictModes=no -o UseDNS=no
"""
_SSH = (
    "-F", "/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR",
    "-o", "IdentitiesOnly=yes", "-l", "root",
)  # fmt: skip


class UmlHost(msgspec.Struct, frozen=True, kw_only=True):
    """The host; all its files are in one directory."""

    home: str
    image: Image
    ignored: int
    """The disk ignores every n-th flush; 1: all of them, 0: none."""
    address: ClassVar[str] = ADDRESS
    device: ClassVar[str] = "/dev/vda"
    service: ClassVar[str] = _DISK + SSHD.format("vec0", ADDRESS)

    def file(self, name: str) -> Path:
        return Path(self.home) / name

    @property
    def ssh(self) -> str:
        """The command for ``--ssh``."""
        return shlex.join(["ssh", *_SSH, "-i", str(self.file("key"))])

    def plug(self, action: str) -> str:
        """Return the command for ``--on`` or ``--off``."""
        return shlex.join([sys.executable, "-m", type(self).__module__, action, self.home])

    def campaign(self, cuts: int, *options: str | Path) -> list[str | Path]:
        """Return the arguments of a campaign on this host."""
        mounted = f"mountpoint -q {MOUNT} || mount {self.device} {MOUNT}"
        made = f"umount -l {MOUNT}; mkfs.ext4 -q -F -E lazy_itable_init=1 {self.device} && mount {self.device} {MOUNT}"
        return [
            "powercut", "campaign", "--host", self.address, "--dir", MOUNT, "--ssh", self.ssh, "--cuts", str(cuts),
            "--off", self.plug("off"), "--on", self.plug("on"), "--mount", mounted, "--remake", made,
            "--installed", "/usr/local/bin/fstui", *options,
        ]  # fmt: skip

    def make(self, shared: Path | None = None) -> None:
        """Make the payload: fstui, sshd's key, and the driver of the disk. ``shared``: as in ``payload``."""
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.file("key"))
        payload(Path(self.home), self.image, self.service, self.file("key.pub"), *DRIVERS, shared=shared)

    def make_disk(self) -> None:
        self.file("host.json").write_bytes(msgspec.json.encode(self))
        with self.file("disk.img").open("wb") as disk:
            disk.truncate(512 << 20)
        run("mkfs.ext4", "-q", "-F", self.file("disk.img"))

    def on(self) -> None:
        vhost = self.file("vhost.sock")
        vhost.unlink(missing_ok=True)
        export = f"type=vhost-user-blk,id=a,node-name=a,writable=on,addr.type=unix,addr.path={vhost}"
        self.begin("storage", "qemu-storage-daemon", "--blockdev", self.disk_on(), "--export", export)
        _wait_for(vhost)
        self.begin(
            "kernel", "unshare", "--pid", "--fork", "--kill-child", KERNEL, "mem=512M", f"ubd0r={self.image.root}",
            f"ubd1r={self.file('payload.tar')}", "disks=ubd", f"initrd={self.image.initrd}", "con=null",
            "con0=null,fd:2", "panic=-1", "quiet",
            f"vec0:transport=tap,ifname={TAP},depth=64", f"virtio_uml.device={vhost}:2",
        )  # fmt: skip

    def disk_on(self) -> str:
        """Start the server of the disk, and return QEMU's description of it."""
        served = self.file("disk")
        served.mkdir(exist_ok=True)
        self.begin("disk", sys.executable, forgetful_fuse.__file__, served, self.file("disk.img"), str(self.ignored))
        _wait_for(served / "disk.img")
        return f"driver=file,node-name=a,filename={served}/disk.img,cache.direct=on,locking=off"

    def off(self) -> None:
        """Cut the power: what was only in the disk's cache is lost."""
        self._signal("disk", signal.SIGSTOP)  # or qemu-storage-daemon would flush when the kernel disconnects
        for name in ("kernel", "storage", "disk"):
            self._signal(name, signal.SIGKILL)
            self.file(f"{name}.pid").unlink(missing_ok=True)
        subprocess.run(["umount", "--lazy", self.file("disk")], check=False, capture_output=True)

    @contextmanager
    def running(self) -> Iterator[tuple[str, ...]]:
        """Switch the host on, and off at the end. Yield the prefix of a command that reaches it."""
        namespace = f"fstui{os.getpid()}-uml"
        within = ("ip", "netns", "exec", namespace)
        run("ip", "netns", "add", namespace)
        try:
            run(*within, "ip", "tuntap", "add", TAP, "mode", "tap")
            run(*within, "ip", "address", "add", f"{ADDRESS.rpartition('.')[0]}.1/24", "dev", TAP)
            run(*within, "ip", "link", "set", TAP, "up")
            run(*within, *shlex.split(self.plug("on")))
            yield within
        finally:
            self.off()
            run("ip", "netns", "delete", namespace)

    def _signal(self, name: str, number: signal.Signals) -> None:
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(int(self.file(f"{name}.pid").read_text()), number)

    def begin(self, name: str, *words: str | Path) -> None:
        with self.file(f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                ["nice", "-n", "10", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "TMPDIR": self.home, "FUSE_LIBRARY_NAME": "fuse3"},
            )  # fmt: skip
        self.file(f"{name}.pid").write_text(str(process.pid))


def missing() -> list[str]:
    """Return what has to be installed or built first."""
    tools = [tool for tool in TOOLS if shutil.which(tool) is None and not Path("/usr/sbin", tool).exists()]
    kernel = [] if KERNEL.exists() else ["user-mode-linux"]
    return [*tools, *kernel, *([] if cached(RECIPE) else ["python -m tests.lab build ssh --kernel 6.1"])]


def run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True)


def _wait_for(file: Path) -> None:
    """Wait until a server has made its socket or its disk."""
    deadline = time.monotonic() + START_S
    while not file.exists():
        if time.monotonic() > deadline:
            raise LabUnavailable(f"no server has made {file}")
        time.sleep(0.02)


def main(kind: type[UmlHost]) -> None:
    host = msgspec.json.decode(Path(sys.argv[2], "host.json").read_bytes(), type=kind)
    {"on": host.on, "off": host.off}[sys.argv[1]]()


if __name__ == "__main__":
    main(UmlHost)
