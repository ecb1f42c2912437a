"""A host for power-cut campaigns under QEMU's software emulation: slower than ``uml.py``, and with its disk and plug.

Its root filesystem is the image ``ssh``. Its sshd is reached through a port of this machine.
"""

import gzip
import lzma
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.lab.initrd import Archive
from tests.lab.recipe import GUEST
from tests.lab.uml import IMAGE, SSHD, START, UmlHost, main, run
from tests.lab.vm import KERNEL_LINE, MEMORY_MIB, plain

_XZ = b"\xfd7zXZ\0"
_SECTOR = 512
_START_AGENT = "exec switch_root /root /lab/start"
_START_SSHD = """for directory in run tmp var/tmp root srv; do mount -t tmpfs -o mode=755 tmpfs /root/$directory; done
mkdir /root/run/lab
tar -xf /root/dev/vdb -C /root/run/lab
exec switch_root /root /bin/sh /run/lab/start"""
"""Without udev, which takes most of the time of a boot."""


class QemuHost(UmlHost, frozen=True, kw_only=True):
    port: int

    address = "127.0.0.1"
    device = "/dev/vdc"

    @property
    def ssh(self) -> str:
        return f"{super().ssh} -p {self.port}"

    def make(self) -> None:
        """Make the disk with fstui, the initrd and the kernel, which is uncompressed because the guest is slow."""
        assert IMAGE is not None
        tree = self.make_tree()
        (tree / "start").write_text(f"{START}modprobe virtio_net\n{SSHD.format('eth0', '10.0.2.15')}")
        tar = self.file("payload.tar")
        run("tar", "-C", tree, "-cf", tar, ".")
        with tar.open("ab") as file:
            file.write(b"\0" * (-file.tell() % _SECTOR))
        archive = Archive()
        init = (GUEST / "initrd-init").read_text().replace(_START_AGENT, _START_SSHD)
        archive.add("init", stat.S_IFREG | 0o755, init.encode())
        # Of a file that is in both archives, the kernel keeps the later one.
        self.file("initrd.gz").write_bytes(IMAGE.initrd.read_bytes() + gzip.compress(archive.end()))
        compressed = IMAGE.kernel.read_bytes()
        self.file("vmlinux").write_bytes(lzma.LZMADecompressor().decompress(compressed[compressed.index(_XZ) :]))

    @contextmanager
    def running(self) -> Iterator[tuple[str, ...]]:
        self.on()
        try:
            yield ()
        finally:
            self.off()

    def on(self) -> None:
        """Switch the power on."""
        self.begin(
            "kernel", "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-machine", "q35,accel=tcg", "-cpu", "qemu64,+rdrand", "-smp", "1", "-m", f"{MEMORY_MIB}M",
            "-kernel", self.file("vmlinux"), "-initrd", self.file("initrd.gz"),
            "-append", f"{KERNEL_LINE} net.ifnames=0",
            "-serial", f"file:{self.file('console.log')}", "-device", "virtio-rng-pci",
            *plain("root", Path(self.root)), *plain("payload", self.file("payload.tar")),
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
