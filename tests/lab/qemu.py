"""A host for power-cut campaigns under QEMU's software emulation: slower than ``uml.py``, with the same disk and plug.

Its root filesystem is the image ``ssh``. Its sshd is reached through a port of this machine.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.lab.uml import SSHD, UmlHost, main
from tests.lab.vm import KERNEL_LINE, qemu


class QemuHost(UmlHost, frozen=True, kw_only=True):
    port: int

    address = "127.0.0.1"
    device = "/dev/vdc"
    service = f"modprobe virtio_net\n{SSHD.format('eth0', '10.0.2.15')}"

    @property
    def ssh(self) -> str:
        return f"{super().ssh} -p {self.port}"

    @contextmanager
    def running(self) -> Iterator[tuple[str, ...]]:
        self.on()
        try:
            yield ()
        finally:
            self.off()

    def on(self) -> None:
        self.begin(
            "kernel",
            *qemu(self.image, self.file("payload.tar"), f"{KERNEL_LINE} net.ifnames=0", self.file("console.log")),
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
