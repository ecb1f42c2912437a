"""Send requests to hypervisors: HTTP to Firecracker and cloud-hypervisor, QMP to QEMU. Each read has a time limit."""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from fstui.storage.tree import Tree

_REPLY_TIMEOUT_S = 1.0
_MAX_REPLY_BYTES = 1 << 20
_UCRED = struct.Struct("3i")
_LISTENS, _CONNECTED = "01", "03"
"""The column St of /proc/net/unix (net/unix/af_unix.c)."""


def get_json(path: str, pid: int, resource: str) -> Any:
    """Send a GET request to the process that listens on the socket. Return the JSON; None without a valid reply."""
    from http.client import HTTPConnection, HTTPException  # noqa: PLC0415  slow, and few hosts have such guests

    connection = HTTPConnection("localhost")
    try:
        with _connect(path, pid) as connection.sock:
            connection.request("GET", resource, headers={"Accept": "application/json"})
            reply = connection.getresponse()
            return decode_json(reply.read(_MAX_REPLY_BYTES)) if reply.status == 200 else None
    except (OSError, HTTPException):
        return None


def is_in_use(tree: Tree, pid: int, path: str) -> bool | None:
    """Return whether a client is connected to the socket on which a process listens; None if unknown."""
    lines = (tree.text(f"/proc/{pid}/net/unix", 4 << 20) or "").split("\n")
    states = [fields[5] for line in lines if len(fields := line.split(maxsplit=7)) == 8 and fields[7] == path]
    return _CONNECTED in states if _LISTENS in states else None


def block_devices(path: str, pid: int) -> tuple[list[Any], list[Any]] | None:
    """Return the results of QMP's ``query-block`` and ``query-named-block-nodes``; None if QEMU does not reply.

    QEMU serves one client at a time, so another client waits for a few milliseconds. The commands change nothing.
    """
    try:
        with _connect(path, pid) as client, client.makefile("rb") as file:
            replies = map(decode_json, iter(partial(file.readline, _MAX_REPLY_BYTES), b""))
            next(replies)  # the greeting
            _execute(client, replies, "qmp_capabilities")
            disks = _execute(client, replies, "query-block")
            return disks, _execute(client, replies, "query-named-block-nodes", flat=True)
    except (OSError, KeyError, TypeError, StopIteration):
        return None


def _execute(client: socket.socket, replies: Iterator[Any], command: str, **arguments: object) -> Any:
    client.sendall(msgspec.json.encode({"execute": command, "arguments": arguments}) + b"\n")
    return next(reply for reply in replies if "event" not in reply)["return"]


def _connect(path: str, pid: int) -> socket.socket:
    """Connect to a socket on which the process ``pid`` listens. Raises OSError, also if another process listens on it.

    The path comes from the arguments of the process, whose owner must not be able to make root connect to another
    server.
    """
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(_REPLY_TIMEOUT_S)
    try:
        # an address has at most 107 bytes (unix(7)), and a path through /proc/PID/root may be longer
        directory_path, _, name = path.rpartition("/")
        directory = os.open(directory_path, os.O_PATH | os.O_DIRECTORY)
        try:
            client.connect(f"/proc/self/fd/{directory}/{name}")
        finally:
            os.close(directory)
        if _UCRED.unpack(client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0] != pid:
            raise PermissionError(errno.EPERM, "another process listens there", path)
    except OSError:
        client.close()
        raise
    return client


def decode_json(data: bytes) -> Any:
    """Return the decoded JSON; None if it is invalid or incomplete."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
