"""A host for power-cut campaigns under QEMU's software emulation: slower than ``uml.py``, and with its disk and plug.

Its root filesystem is the image ``ssh``. Its sshd is reached through a port of this machine.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.uml import IMAGE, SSHD, UmlHost, main, run
from tests.lab.vm import KERNEL_LINE, MEMORY_MIB, plain

_AGENT = "import os\nos.execv('/bin/sh', ['sh', '/run/lab/sshd'])\n"
_SECTOR = 512


class QemuHost(UmlHost, frozen=True, kw_only=True):
    port: int

    address = "127.0.0.1"
    device = "/dev/vdc"

    @property
    def ssh(self) -> str:
        return f"{super().ssh} -p {self.port}"

    def make(self) -> None:
        """Make the disk with fstui, whose agent the guest starts."""
        tree = self.make_tree()
        (tree / "agent.py").write_text(_AGENT)
        (tree / "sshd").write_text("modprobe virtio_net\n" + SSHD.format("eth0", "10.0.2.15"))
        tar = self.file("payload.tar")
        run("tar", "-C", tree, "-cf", tar, ".")
        with tar.open("ab") as file:
            file.write(b"\0" * (-file.tell() % _SECTOR))

    @contextmanager
    def running(self) -> Iterator[tuple[str, ...]]:
        self.on()
        try:
            yield ()
        finally:
            self.off()

    def on(self) -> None:
        """Switch the power on."""
        assert IMAGE is not None
        self.begin(
            "kernel", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35,accel=tcg", "-cpu", "max,la57=off", "-smp", "1", "-m", f"{MEMORY_MIB}M",
            "-kernel", IMAGE.kernel, "-initrd", IMAGE.initrd, "-append", f"{KERNEL_LINE} net.ifnames=0 lab.disks=",
            "-serial", f"file:{self.file('console.log')}", "-device", "virtio-rng-pci",
            *plain("root", IMAGE.root), *plain("payload", self.file("payload.tar")),
            "-blockdev", self.disk_on(), "-device", "virtio-blk-pci,drive=a",
            "-netdev", f"user,id=net,hostfwd=tcp:127.0.0.1:{self.port}-:22", "-device", "virtio-net-pci,netdev=net",
        )  # fmt: skip


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


if __name__ == "__main__":
    main(QemuHost)
