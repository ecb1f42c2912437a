"""A mount whose server took every request and never answers, in a mount namespace of its own.

``unshare --mount python silent_fuse.py DIRECTORY``: says ``mounted``, stays until its stdin closes. Structures from
linux/fuse.h. Nobody outside the namespace meets the mount: ``nsenter --target PID --mount COMMAND`` does.
"""

import ctypes
import os
import select
import struct
import sys

PROTOCOL_MAJOR, PROTOCOL_MINOR = 7, 31
REQUEST_BYTES = 1 << 17
IN_HEADER = struct.Struct("=IIQQIII4x")  # length, opcode, unique, node, uid, gid, pid
OUT_HEADER = struct.Struct("=IiQ")  # length, error, unique
INIT_OUT = struct.Struct("=IIIIHHIIHHII24x")
INIT = 26


def mount(fd: int, directory: str) -> None:
    """mount(2) of type fuse.silent. Raises OSError."""
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"silent-server", os.fsencode(directory), b"fuse.silent", 0, options.encode()):
        raise OSError(ctypes.get_errno(), "mount", directory)


def greet(fd: int) -> None:
    """Answer INIT, so that the kernel believes in a living server."""
    request = os.read(fd, REQUEST_BYTES)
    _, opcode, unique, *_ = IN_HEADER.unpack_from(request)
    assert opcode == INIT, opcode
    answer = INIT_OUT.pack(PROTOCOL_MAJOR, PROTOCOL_MINOR, 0, 0, 0, 0, 4096, 0, 0, 0, 0, 0)
    os.write(fd, OUT_HEADER.pack(OUT_HEADER.size + len(answer), 0, unique) + answer)


if __name__ == "__main__":
    server = os.open("/dev/fuse", os.O_RDWR)
    mount(server, sys.argv[1])
    greet(server)
    print("mounted", flush=True)
    while True:
        readable, _, _ = select.select([0, server], [], [])
        if 0 in readable:
            break
        os.read(server, REQUEST_BYTES)
    # closing the connection ends every call that still waits in it
    os.close(server)
