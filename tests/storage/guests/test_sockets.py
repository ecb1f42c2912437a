"""Sockets of hypervisors: who is asked, what is asked, and for how long."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from fstui.storage.guests import microvms, sockets
from fstui.storage.tree import Tree
from tests.factories.box import Box

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
DRIVE = b'{"drives": [{"drive_id": "d", "path_on_host": "/d", "is_read_only": false, "cache_type": "Unsafe"}]}'


@contextmanager
def server(path: Path, answer: bytes) -> Iterator[list[bytes]]:
    """Listen in this process. Answer one request in two parts, or never if the answer is empty. Yield the requests."""
    requests: list[bytes] = []
    over = threading.Event()

    def serve() -> None:
        with suppress(OSError):  # the test is over, or the client has left
            client, _ = listener.accept()
            with client:
                requests.append(client.recv(4096))
                client.sendall(answer[:40])
                client.sendall(answer[40:])
                if not answer:
                    over.wait()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield requests
        finally:
            over.set()


def test_firecracker_is_asked_for_its_configuration(tmp_path: Path) -> None:
    with server(tmp_path / "fc", OK + DRIVE) as requests:
        words = ["firecracker", "--api-sock", "/fc"]
        guest = microvms.firecracker_guest(os.getpid(), words, lambda _: None, lambda path: f"{tmp_path}{path}")
    assert [(disk.name, disk.flush) for disk in guest.disks] == [("d", "ignored")]
    assert guest.read_from == "its API socket /fc"
    assert requests[0].startswith(b"GET /vm/config HTTP/1.1\r\n")


def test_cloud_hypervisor_is_asked_for_disks_that_were_added(tmp_path: Path) -> None:
    config = b'{"config": {"disks": [{"path": "/a", "id": "late", "direct": true, "readonly": false}]}}'
    with server(tmp_path / "ch", OK + config):
        words = ["cloud-hypervisor", "--api-socket", "path=/ch"]
        guest = microvms.cloud_hypervisor_guest(os.getpid(), words, lambda path: f"{tmp_path}{path}")
    assert [(disk.name, disk.cache, disk.flush) for disk in guest.disks] == [("late", "direct", "passed")]


@pytest.mark.parametrize("reply", [b"HTTP/1.1 404 Not Found\r\n\r\n{}", OK + b"<html>", b"nonsense"])
def test_other_replies_are_none(tmp_path: Path, reply: bytes) -> None:
    with server(tmp_path / "s", reply):
        assert sockets.get_json(str(tmp_path / "s"), os.getpid(), "/vm/config") is None


def test_a_server_that_never_replies_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "_REPLY_TIMEOUT_S", 0.2)
    with server(tmp_path / "s", b""):
        assert sockets.get_json(str(tmp_path / "s"), os.getpid(), "/vm/config") is None


def test_nothing_is_sent_to_the_socket_of_another_process(tmp_path: Path) -> None:
    """A user could name root's own socket in the arguments of a program called firecracker."""
    with server(tmp_path / "s", OK + DRIVE) as requests:
        assert sockets.get_json(str(tmp_path / "s"), os.getppid(), "/vm/config") is None
        assert sockets.block_devices(str(tmp_path / "s"), os.getppid()) is None
    assert requests in ([], [b""])


@pytest.mark.parametrize(("lines", "used"), [
    (["00010000 0001 01   812 /q"], False),
    (["00010000 0001 01 1 /q", "00000000 0001 03 2 /q"], True),
    (["00010000 0001 01 1 /other"], None),
    ([], None),
])  # fmt: skip
def test_a_client_of_a_socket_is_seen(box: Box, lines: list[str], used: bool | None) -> None:
    head = "Num       RefCount Protocol Flags    Type St Inode Path"
    box.write("/proc/7/net/unix", "\n".join([head, *(f"0000000000000000: 00000002 00000000 {line}" for line in lines)]))
    assert sockets.is_in_use(Tree(box.root), 7, "/q") is used
